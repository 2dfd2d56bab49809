import { createHash } from "node:crypto";
import type { DerivationConfig } from "@rnode/derivation";
import { bytesToHex, type Hex, privateKeyToAddress } from "@rnode/primitives";
import { SimClock } from "@rnode/program/testing";
import {
  derivationFactsAt,
  type FeeMarketTransaction,
  type L2BlockRef,
  signTransaction,
  type UpgradeArtifactSource,
} from "@rnode/protocol";
import type { Published } from "@rnode/rnode";
import { Invariants, type Violation } from "./invariants.ts";
import { junkData, userTransaction } from "./junk.ts";
import { l1Server } from "./l1-rpc.ts";
import { L1Traffic } from "./l1-traffic.ts";
import {
  BATCHER_KEY,
  configOf,
  GENESIS_TIME_SEC,
  isBatcherUndisturbed,
  type JunkKind,
  type LateVerifier,
  type Plan,
  USER_ADDRESS,
} from "./plan.ts";
import { Random } from "./random.ts";
import { RealEngine } from "./real-engine.ts";
import type { ScenarioEngine } from "./scenario-engine.ts";
import { SimBatcher } from "./sim-batcher.ts";
import { SimBeacon } from "./sim-beacon.ts";
import { KnownBlocks } from "./sim-block.ts";
import { SimDa } from "./sim-da.ts";
import { SimL1 } from "./sim-l1.ts";
import { SimLog } from "./sim-log.ts";
import { SimNode, type SimNodeOptions } from "./sim-node.ts";
import { SyncPeers } from "./sync-peers.ts";

const STRANGER_KEY = new Uint8Array(32).fill(0x5a);
const L1_SAFE_DISTANCE = 4;
const MAX_REMEMBERED_DATA = 40;
/** Peers tell of their heads so often. */
const BLOCKS_AN_ANNOUNCEMENT = 32;

const sinceGenesis = (sec: number | undefined): number | undefined => (sec === undefined ? undefined : GENESIS_TIME_SEC + sec);

/** A verifier that joins late, and the sources of its execution client's sync. */
interface LateNode {
  readonly plan: LateVerifier;
  readonly node: SimNode;
  readonly engine: RealEngine;
  readonly peers: SyncPeers;
  /** for gossip to it; separate, so that the other nodes' sequences do not change */
  readonly random: Random;
}

/** An L1, a sequencer with its batcher, and verifiers, with a common clock: everything that a plan needs. */
export class SimNetwork {
  readonly plan: Plan;
  readonly clock = new SimClock(GENESIS_TIME_SEC * 1000);
  readonly log: SimLog;
  readonly l1: SimL1;
  readonly l1Traffic: L1Traffic;
  readonly derivation: DerivationConfig;
  readonly sequencer: SimNode;
  readonly #nodes: SimNode[];
  readonly #node: (name: string, isSequencer: boolean, more?: Partial<SimNodeOptions>) => SimNode;
  readonly late: readonly LateNode[];
  readonly batcher: SimBatcher;
  /** `undefined`: the data is on L1 */
  readonly da: SimDa | undefined;
  /** `undefined`: nodes get blobs without it */
  readonly beacon: SimBeacon | undefined;
  readonly invariants: Invariants;
  readonly violations: Violation[] = [];
  /** blocks that the supernode has decided against */
  readonly invalidated: L2BlockRef[] = [];
  readonly gossip = { lossRate: 0, delayMs: 0 };
  /** the outcome of transactions sent to L1 */
  readonly inclusion: { how: "prompt" | "late" | "lost"; delayMs: number } = { how: "prompt", delayMs: 0 };
  isL1Paused = false;
  readonly random: Random;
  /** of nodes in light mode; separate, so that the other nodes' sequences do not change */
  readonly #lightRandoms = new Map<string, Random>();
  readonly #honestChannels = new Set<Hex>();
  /** hashes of blocks that the sequencer has made */
  readonly #sequenced = new Set<Hex>();
  #userNonce = 0;
  #strangerNonce = 0n;

  constructor(plan: Plan, options: { readonly isLogKept: boolean; readonly upgradeArtifact?: UpgradeArtifactSource | undefined }) {
    this.plan = plan;
    this.random = new Random(plan.seed, "network");
    this.log = new SimLog(this.clock, options.isLogKept);
    this.l1 = new SimL1({
      genesisTimeSec: GENESIS_TIME_SEC,
      blockTimeSec: plan.l1BlockTimeSec,
      safeDistance: L1_SAFE_DISTANCE,
      finalDistance: plan.finalDistance,
      amsterdamTimeSec: sinceGenesis(plan.l1Forks.amsterdamSec),
      unknownFieldTimeSec: plan.l1Forks.next?.hasHeaderField === true ? sinceGenesis(plan.l1Forks.next.atSec) : undefined,
    });
    const { l1, clock, log } = this;
    const rollup = configOf(plan, this.l1.head.ref);
    this.l1Traffic = new L1Traffic(plan.l1Forks, {
      random: new Random(plan.seed, "l1 traffic"),
      logRandom: new Random(plan.seed, "L1 logs"),
      l1,
      config: rollup,
    });
    this.derivation = { rollup, l1BlobSchedule: [], upgradeArtifact: options.upgradeArtifact, isInCluster: plan.isInCluster };
    const server = l1Server({
      l1,
      chainId: rollup.l1ChainId,
      earliestInclusionMs: () => (this.inclusion.how === "lost" ? undefined : clock.unixMs() + this.inclusion.delayMs),
      onSubmitted: (text) => log.note("l1", text),
      hasRawMethods: () => clock.unixMs() / 1000 >= GENESIS_TIME_SEC + (plan.l1Forks.next?.rawMethodsSec ?? 0),
    });
    const { blobSource } = plan;
    const isFulu = blobSource === "beacon-since-fulu";
    this.beacon = blobSource === "l1" ? undefined : new SimBeacon(l1, { isFulu, l1ChainId: rollup.l1ChainId });
    const { beacon } = this;
    const { altDa } = rollup;
    this.da =
      altDa &&
      new SimDa({
        config: altDa,
        inbox: rollup.batchInboxAddress,
        l1,
        random: new Random(plan.seed, "challenges"),
        transaction: (calldata) =>
          this.#l1Transaction(STRANGER_KEY, this.#strangerNonce++, calldata, altDa.daChallengeContractAddress),
        onEvent: (text) => log.note("l1", text),
      });
    const { da } = this;
    this.invariants = new Invariants({
      l1,
      areSafeBlocksTakenBack: altDa !== undefined,
      isBatcherUndisturbed: isBatcherUndisturbed(plan),
      isHonestChannel: (id) => this.#honestChannels.has(id),
      isSequenced: (hash) => this.#sequenced.has(hash),
      depositsOf: (block) => this.l1Traffic.depositsOf(block),
      gasLimits: () => this.l1Traffic.gasLimits(),
      isInChain: ({ number, hash, l1Origin }) =>
        l1.isCanonical(l1Origin) && this.sequencer.engine.canonicalRef(number)?.hash === hash,
      onViolation: (violation) => this.report(violation),
    });
    const knownBlocks = new KnownBlocks();
    const followed = new Map(plan.light.map(({ name, follows }) => [name, follows]));
    this.#node = (name, isSequencer, more = {}) =>
      new SimNode(
        {
          name,
          isSequencer,
          maxLatencyMs: plan.maxLatencyMs,
          l1PollMs: (plan.l1BlockTimeSec * 1000) / 4,
          sequencerConfs: plan.sequencerConfs,
          verifierConfs: isSequencer ? 0 : plan.verifierConfs,
          keepsSafeHeads: plan.keepsSafeHeads.includes(name),
          engine: plan.engine,
          ...(isSequencer && plan.hasRefunds && { refunds: new Random(plan.seed, "refunded blocks") }),
          follows: followed.get(name),
          verifiedLagBlocks: name === plan.supernode?.name ? plan.supernode.lagBlocks : undefined,
          ...more,
        },
        {
          derivation: this.derivation,
          knownBlocks,
          clock,
          random: new Random(plan.seed, name),
          l1,
          l1Server: server,
          beacon,
          da,
          log,
          askNode: (of, method) => this.nodes.find((node) => node.name === of)!.answer(method),
          gossip: (from, envelope) => this.#spread(from, envelope),
          observer: (of) => this.invariants.observer(of),
          onEnded: (of, reason) => this.invariants.blame(of, { rule: "node-stopped", detail: `${of.name}: ${reason}` }),
        },
      );
    this.sequencer = this.#node("sequencer", true);
    const verifiers = Array.from({ length: plan.verifiers }, (_, i) => this.#node(`verifier-${i + 1}`, false));
    const others = new Set(["sequencer", ...verifiers.map(({ name }) => name)]);
    const light = plan.light.flatMap(({ name }) => (others.has(name) ? [] : [this.#node(name, false)]));
    for (const node of light) this.#lightRandoms.set(node.name, new Random(plan.seed, `${node.name} gossip`));
    this.late = plan.late.map((late) => this.#lateNode(late));
    this.#nodes = [this.sequencer, ...verifiers, ...light, ...this.late.map(({ node }) => node)];
    for (const late of this.late) this.#introduce(late);
    this.batcher = new SimBatcher(
      {
        key: BATCHER_KEY,
        maxLatencyMs: plan.maxLatencyMs,
        args: plan.batcherArgs,
        usesBlobs: plan.usesBlobs,
        hasCommitments: beacon !== undefined,
      },
      {
        config: rollup,
        clock,
        random: new Random(plan.seed, "batcher"),
        l1,
        l1Server: server,
        sequencers: [this.sequencer],
        log,
        areBlobsRead: () => derivationFactsAt(rollup.forkTimes, l1.head.ref.timestamp).readsBlobs,
        onChannel: (id) => this.#honestChannels.add(id),
        da,
      },
    );
  }

  get nodes(): readonly SimNode[] {
    return this.#nodes;
  }

  #lateNode(plan: LateVerifier): LateNode {
    const { clock, log } = this;
    const { name, syncsAs, follows } = plan;
    const { engine: profile, seed } = this.plan;
    if (profile === "simulated") throw new Error("simulated execution clients have no peers");
    const peers = new SyncPeers(plan.peers, { clock, random: new Random(seed, `${name} peers`) });
    const engine = new RealEngine(this.derivation.rollup, clock, {
      user: USER_ADDRESS,
      profile,
      peers: peers.peers,
      log: log.loggerOf(`${name} engine`),
    });
    return {
      plan,
      node: this.#node(name, false, { engine, syncsAs, follows }),
      engine,
      peers,
      random: new Random(seed, `${name} gossip`),
    };
  }

  /** Connects its execution client with those of all other nodes. */
  #introduce({ plan, node, peers }: LateNode): void {
    for (const { name, engine } of this.nodes) if (name !== node.name && engine instanceof RealEngine) peers.addNode(name, engine);
    for (const stranger of plan.strangers) peers.addStranger(stranger, this.sequencer.engine as RealEngine);
  }

  lightRandom(name: string): Random {
    return this.#lightRandoms.get(name) ?? this.random;
  }

  /** A further verifier, which starts now. */
  join(name: string, engine: ScenarioEngine): SimNode {
    const node = this.#node(name, false, { engine });
    this.#nodes.push(node);
    node.start();
    return node;
  }

  report(violation: Violation): void {
    this.violations.push(violation);
    this.log.note("VIOLATION", `${violation.rule}: ${violation.detail}`);
  }

  start(): void {
    const lateNodes = new Set(this.late.map(({ node }) => node));
    for (const node of this.nodes) if (!lateNodes.has(node)) node.start();
    for (const { plan, node } of this.late) this.clock.after(plan.startMs, () => node.start());
    this.batcher.start();
    this.#mineRegularly();
    this.#sendRegularly();
    if (this.late.length > 0) this.#announceRegularly();
  }

  /** Stops a batcher like a crash: pending work may never be completed. */
  killBatcher(): void {
    this.batcher.kill();
    this.#honestChannels.clear();
  }

  async run(ms: number): Promise<void> {
    await this.clock.advance(ms, () => this.invariants.check(this.nodes));
  }

  /** Puts something into the inbox. */
  sendJunk(from: "batcher" | "stranger", what: JunkKind): void {
    const { l1, random } = this;
    const data = junkData(what, {
      config: this.derivation.rollup,
      random,
      engine: this.sequencer.engine,
      safeNumber: this.sequencer.heads?.safe.number ?? 0,
      earlier: this.#dataOnL1(),
    });
    const key = from === "batcher" ? BATCHER_KEY : STRANGER_KEY;
    const nonce =
      from === "batcher" ? l1.nonceAt(bytesToHex(privateKeyToAddress(BATCHER_KEY)), l1.head.ref.number) : this.#strangerNonce++;
    l1.force(this.#l1Transaction(key, nonce, data));
  }

  #l1Transaction(key: Uint8Array, nonce: bigint, data: Uint8Array, to?: Uint8Array): FeeMarketTransaction {
    const { l1ChainId, batchInboxAddress } = this.derivation.rollup;
    const fees = { maxFeePerGas: 10n ** 12n, maxPriorityFeePerGas: 10n ** 9n };
    const tx = {
      type: 2 as const,
      chainId: l1ChainId,
      nonce,
      ...fees,
      gasLimit: 500_000n,
      to: to ?? batchInboxAddress,
      value: 0n,
      data,
      accessList: [],
    };
    return signTransaction(tx, key);
  }

  /** Data of the batcher's newest transactions in the canonical chain. */
  #dataOnL1(): Uint8Array[] {
    const found: Uint8Array[] = [];
    for (const { stored } of this.l1.blocks.slice(-MAX_REMEMBERED_DATA)) {
      for (const tx of stored.block.transactions) if (tx.type === 2 && tx.data.length > 0) found.push(tx.data);
    }
    return found;
  }

  #spread(from: string, envelope: Parameters<SimNode["receive"]>[0]): Published {
    this.#sequenced.add(bytesToHex(envelope.executionPayload.blockHash));
    for (const node of this.nodes) {
      const random = this.late.find((late) => late.node === node)?.random ?? this.lightRandom(node.name);
      if (node.name === from || random.chance(this.gossip.lossRate)) continue;
      this.clock.after(random.between(0, 30 + this.gossip.delayMs), () => node.receive(envelope));
    }
    return { kind: "published" };
  }

  #announceRegularly(): void {
    this.clock.after(BLOCKS_AN_ANNOUNCEMENT * this.plan.blockTimeSec * 1000, () => {
      for (const { peers } of this.late) peers.peers.announce();
      this.#announceRegularly();
    });
  }

  #mineRegularly(): void {
    const { clock, plan } = this;
    clock.after(plan.l1BlockTimeSec * 1000, () => {
      if (!this.isL1Paused) {
        this.da?.beforeBlock();
        const block = this.l1Traffic.mine(clock.unixMs());
        const what =
          block === undefined
            ? "a slot without a block"
            : `block ${block.ref.number} ${block.ref.hash.slice(0, 10)}… on ${block.ref.parentHash.slice(0, 10)}… with ${block.transactionHashes.length} transactions`;
        this.log.note("l1", what);
      }
      this.#mineRegularly();
    });
  }

  #sendRegularly(): void {
    this.clock.after(this.plan.userIntervalMs, () => {
      this.sequencer.engine.addUserTransaction(userTransaction(this.derivation.rollup, this.#userNonce++));
      this.#sendRegularly();
    });
  }

  /** Ends everything, and leaves nothing behind. */
  async remove(): Promise<void> {
    this.batcher.kill();
    for (const node of this.nodes) await node.remove();
  }

  /** A digest of the final state of all nodes: the same seed has the same digest. */
  get fingerprint(): string {
    const hash = createHash("sha256");
    for (const block of this.l1.blocks) hash.update(block.ref.hash);
    for (const { engine, heads } of this.nodes) hash.update(`${engine.head.hash} ${heads?.safe.hash} ${heads?.finalized.hash}`);
    return hash.digest("hex").slice(0, 16);
  }
}
