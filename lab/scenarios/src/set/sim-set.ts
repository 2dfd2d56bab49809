import { createHash } from "node:crypto";
import { bytesToHex, type Hex } from "@rnode/primitives";
import { SimClock } from "@rnode/program/testing";
import type { ExecutionPayloadEnvelope, RollupConfig } from "@rnode/protocol";
import type { Published } from "@rnode/rnode";
import { l1Server } from "../l1-rpc.ts";
import { GENESIS_TIME_SEC } from "../plan.ts";
import { Random } from "../random.ts";
import { SimBatcher } from "../sim-batcher.ts";
import { KnownBlocks } from "../sim-block.ts";
import type { SimEngine } from "../sim-engine.ts";
import { SimL1 } from "../sim-l1.ts";
import { SimLog } from "../sim-log.ts";
import { SimNode } from "../sim-node.ts";
import { SetInvariants, type SetViolation } from "./set-invariants.ts";
import { type ChainPlan, nodeName, type SetPlan } from "./set-plan.ts";
import { SetTraffic, type TrafficChain } from "./set-traffic.ts";
import { batcherKeyOf, configOfChain, L1_CHAIN_ID } from "./sim-set-chain.ts";
import { SimSource } from "./sim-source.ts";

const L1_SAFE_DISTANCE = 4;
const MAX_GOSSIP_MS = 30;

/** A chain of the set: its sequencer with its batch submitter, a follower, and its nodes in the sources. */
export interface SetChainParts {
  readonly plan: ChainPlan;
  readonly config: RollupConfig;
  readonly known: KnownBlocks;
  readonly sequencer: SimNode;
  readonly follower: SimNode | undefined;
  readonly batcher: SimBatcher;
  /** hashes of the blocks that the sequencer has made */
  readonly sequenced: Set<Hex>;
}

/** An L1, one or two programs that verify a set of chains, and what follows them, with a common clock. */
export class SimSet {
  readonly plan: SetPlan;
  readonly clock: SimClock;
  readonly log: SimLog;
  readonly l1: SimL1;
  readonly random: Random;
  readonly chains: readonly SetChainParts[];
  readonly sources: readonly SimSource[];
  /** of all chains */
  readonly nodes: readonly SimNode[];
  readonly traffic: SetTraffic;
  readonly invariants: SetInvariants;
  readonly violations: SetViolation[] = [];
  readonly inclusion: { how: "prompt" | "late" | "lost"; delayMs: number } = { how: "prompt", delayMs: 0 };
  gossipLossRate = 0;
  isL1Paused = false;

  constructor(plan: SetPlan, isLogKept: boolean) {
    this.plan = plan;
    const { seed, l1BlockTimeSec } = plan;
    this.random = new Random(seed, "network");
    this.l1 = new SimL1({
      genesisTimeSec: GENESIS_TIME_SEC,
      blockTimeSec: l1BlockTimeSec,
      safeDistance: L1_SAFE_DISTANCE,
      finalDistance: plan.finalDistance,
    });
    const { l1 } = this;
    while (l1.head.ref.number < this.newestGenesis) l1.mine((l1.head.ref.timestamp + l1BlockTimeSec) * 1000);
    this.clock = new SimClock(l1.head.ref.timestamp * 1000);
    const { clock } = this;
    this.log = new SimLog(clock, isLogKept);
    const { log } = this;
    const server = l1Server({
      l1,
      chainId: L1_CHAIN_ID,
      earliestInclusionMs: () => (this.inclusion.how === "lost" ? undefined : clock.unixMs() + this.inclusion.delayMs),
      onSubmitted: (text) => log.note("l1", text),
      hasRawMethods: () => true,
    });
    const configs = plan.chains.map((chain) => configOfChain(chain, l1.blocks[chain.l1Genesis]!.ref));
    const known = configs.map(() => new KnownBlocks());
    const nodeOf = (
      index: number,
      part: string,
      isSequencer: boolean,
      follows: string | undefined,
      source?: SimSource,
    ): SimNode => {
      const config = configs[index]!;
      const { chainId } = plan.chains[index]!;
      const name = nodeName(chainId, part);
      return new SimNode(
        {
          name,
          isSequencer,
          maxLatencyMs: plan.maxLatencyMs,
          l1PollMs: (l1BlockTimeSec * 1000) / 4,
          sequencerConfs: plan.sequencerConfs,
          verifierConfs: isSequencer ? 0 : plan.verifierConfs,
          keepsSafeHeads: source !== undefined,
          engine: "simulated",
          follows,
        },
        {
          derivation: { rollup: config, l1BlobSchedule: [], isInCluster: true },
          knownBlocks: known[index]!,
          clock,
          random: new Random(seed, name),
          l1,
          l1Server: server,
          beacon: undefined,
          da: undefined,
          log,
          get ofSet() {
            return source?.ofSet;
          },
          askNode: (of, method) => this.sources.find((one) => one.name === of)!.nodes[index]!.answer(method),
          gossip: (_, envelope) => this.#spread(this.chains[index]!, envelope),
          observer: () => ({}),
          onEnded: (_, reason) => this.report("node-stopped", `${name}: ${reason}`),
        },
      );
    };
    this.sources = plan.sources.map(
      (name) =>
        new SimSource(name, {
          clock,
          random: new Random(seed, name),
          l1,
          l1Server: server,
          log,
          expirySec: plan.expirySec,
          maxLatencyMs: plan.maxLatencyMs,
          configs,
          nodeOf: (source, config) => nodeOf(configs.indexOf(config), name, false, undefined, source),
          onVerdict: (source) => this.invariants.onVerdict(source),
          onEnded: (_, reason) => this.report("node-stopped", `${name}: ${reason}`),
        }),
    );
    this.chains = plan.chains.map((chain, i): SetChainParts => {
      const config = configs[i]!;
      const { followerFollows } = chain;
      const sequencer = nodeOf(i, "sequencer", true, chain.sequencerFollows);
      const batcher = new SimBatcher(
        {
          key: batcherKeyOf(chain.chainId),
          maxLatencyMs: plan.maxLatencyMs,
          args: chain.batcherArgs,
          usesBlobs: false,
          hasCommitments: false,
        },
        {
          config,
          clock,
          random: new Random(seed, nodeName(chain.chainId, "batcher")),
          l1,
          l1Server: server,
          sequencers: [sequencer],
          log,
          areBlobsRead: () => false,
          onChannel: () => {},
          da: undefined,
        },
      );
      return {
        plan: chain,
        config,
        known: known[i]!,
        sequencer,
        follower: followerFollows === undefined ? undefined : nodeOf(i, "follower", false, followerFollows),
        batcher,
        sequenced: new Set(),
      };
    });
    this.nodes = [
      ...this.sources.flatMap(({ nodes }) => nodes),
      ...this.chains.flatMap(({ sequencer, follower }) => (follower === undefined ? [sequencer] : [sequencer, follower])),
    ];
    const users = this.chains.map(({ config, sequencer: { engine } }): TrafficChain => {
      const simulated = engine as SimEngine;
      return {
        config,
        canonicalRef: (number) => simulated.canonicalRef(number),
        logsOf: (number) => simulated.canonicalLogs(number),
        get headNumber() {
          return simulated.head.number;
        },
      };
    });
    const hostileUntilSec = (clock.unixMs() + plan.faultsMs) / 1000;
    this.traffic = new SetTraffic({ ...plan, hostileUntilSec }, users, new Random(seed, "traffic"));
    for (const [i, { sequencer }] of this.chains.entries())
      (sequencer.engine as SimEngine).contentOf = (...block) => this.traffic.contentOf(users[i]!, ...block);
    this.invariants = new SetInvariants({
      l1,
      chains: this.chains,
      startSec: this.sources[0]!.startSec,
      expirySec: plan.expirySec,
      onViolation: (rule, detail) => this.report(rule, detail),
      log,
    });
  }

  /** number of the L1 block that the last chain begins with */
  get newestGenesis(): number {
    return Math.max(...this.plan.chains.map(({ l1Genesis }) => l1Genesis));
  }

  report(rule: SetViolation["rule"], detail: string): void {
    this.violations.push({ rule, detail });
    this.log.note("VIOLATION", `${rule}: ${detail}`);
  }

  start(): void {
    for (const source of this.sources) source.start();
    for (const { sequencer, follower, batcher } of this.chains) {
      sequencer.start();
      follower?.start();
      batcher.start();
    }
    const { clock, l1, log, plan } = this;
    const mine = (): void => {
      if (!this.isL1Paused) {
        const { ref, transactionHashes } = l1.mine(clock.unixMs());
        log.note("l1", `block ${ref.number} ${ref.hash.slice(0, 10)}… with ${transactionHashes.length} transactions`);
      }
      clock.after(plan.l1BlockTimeSec * 1000, mine);
    };
    clock.after(plan.l1BlockTimeSec * 1000, mine);
  }

  async run(ms: number): Promise<void> {
    await this.clock.advance(ms, () => this.invariants.check(this.nodes));
  }

  #spread({ plan, sequenced, follower }: SetChainParts, envelope: ExecutionPayloadEnvelope): Published {
    sequenced.add(bytesToHex(envelope.executionPayload.blockHash));
    const index = this.plan.chains.indexOf(plan);
    const hearing = [
      ...(follower ? [follower] : []),
      ...(plan.doSourcesHear ? this.sources.map(({ nodes }) => nodes[index]!) : []),
    ];
    for (const node of hearing) {
      if (this.random.chance(this.gossipLossRate)) continue;
      this.clock.after(this.random.between(0, MAX_GOSSIP_MS), () => node.receive(envelope));
    }
    return { kind: "published" };
  }

  /** A digest of the final state of all nodes: the same seed has the same digest. */
  get fingerprint(): string {
    const hash = createHash("sha256");
    for (const block of this.l1.blocks) hash.update(block.ref.hash);
    for (const { engine, heads } of this.nodes) hash.update(`${engine.head.hash} ${heads?.safe.hash} ${heads?.finalized.hash}`);
    return hash.digest("hex").slice(0, 16);
  }

  /** Ends everything, and leaves nothing behind. */
  async remove(): Promise<void> {
    for (const { batcher, sequencer, follower } of this.chains) {
      batcher.kill();
      await sequencer.remove();
      await follower?.remove();
    }
    for (const source of this.sources) await source.remove();
  }
}
