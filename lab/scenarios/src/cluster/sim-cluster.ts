import { SimGossip, type SimMessage, signBlock, simMessage } from "@rnode/p2p/testing";
import { type Hex, privateKeyToAddress } from "@rnode/primitives";
import { SimClock } from "@rnode/program/testing";
import { type ExecutionPayloadEnvelope, forksUpTo, type RollupConfig } from "@rnode/protocol";
import { ClusterKeys, EtcdModel, type HeadRecord, readHead, readLeader } from "@rnode/rconductor/testing";
import type { Published } from "@rnode/rnode";
import { localSigner } from "@rnode/signer";
import { userTransaction } from "../junk.ts";
import { l1Server } from "../l1-rpc.ts";
import { BATCHER_KEY, configOf, GENESIS_TIME_SEC, planOf } from "../plan.ts";
import { Random } from "../random.ts";
import { SimBatcher } from "../sim-batcher.ts";
import { KnownBlocks } from "../sim-block.ts";
import { SimL1 } from "../sim-l1.ts";
import { SimLog } from "../sim-log.ts";
import { SimNode } from "../sim-node.ts";
import type { ClusterPlan, KeyholderFault } from "./cluster-plan.ts";
import { hashHex, Keyholder } from "./keyholder.ts";
import { Machine } from "./machine.ts";

const SEQUENCER_KEY = new Uint8Array(32).fill(0x5e);
const SIGNER = privateKeyToAddress(SEQUENCER_KEY);
const KEYHOLDER = "keyholder";
export const L1_BLOCK_TIME_SEC = 6;
const REMEMBERED_BLOCKS = 40;
const HEARTBEAT_MS = 1_000;

export interface ClusterViolation {
  readonly rule: "one-chain" | "released" | "lost" | "wrong-safe" | "liveness" | "follows" | "blamed" | "node-stopped" | "crash";
  readonly detail: string;
}

/**
 * Three sequencers with conductors, a follower, a batch submitter and an attacker, with one etcd and one L1. Rollup nodes,
 * conductors and validation of gossip are the programs' own; execution clients, etcd, L1 and all links are simulated.
 */
export class SimCluster {
  readonly clock = new SimClock(GENESIS_TIME_SEC * 1000);
  readonly log: SimLog;
  readonly random: Random;
  readonly config: RollupConfig;
  readonly machines: readonly Machine[];
  readonly batcher: SimBatcher;
  readonly violations: ClusterViolation[] = [];
  readonly commits: { readonly atMs: number; readonly number: number; readonly hash: Hex; readonly leader: string }[] = [];
  readonly l1: SimL1;
  readonly #committed = new Map<number, Hex>();
  readonly #etcd: EtcdModel;
  readonly #keys = new ClusterKeys("/scenario/");
  readonly #keyholder: Keyholder;
  #userNonce = 0;

  constructor(plan: ClusterPlan, isLogKept: boolean) {
    const { clock } = this;
    const { seed } = plan;
    this.random = new Random(seed, "cluster");
    this.log = new SimLog(clock, isLogKept);
    this.l1 = new SimL1({
      genesisTimeSec: GENESIS_TIME_SEC,
      blockTimeSec: L1_BLOCK_TIME_SEC,
      safeDistance: 4,
      finalDistance: 8,
      amsterdamTimeSec: undefined,
      unknownFieldTimeSec: undefined,
    });
    const { l1, log, random } = this;
    this.config = configOf(
      {
        ...planOf(seed, { hasUpgradeCode: false }),
        blockTimeSec: plan.blockTimeSec,
        forkTimes: forksUpTo(plan.fork),
        engine: "simulated",
        altDa: undefined,
        seqWindowSize: 200,
        channelTimeout: 50,
        maxSequencerDriftSec: 600,
      },
      l1.head.ref,
    );
    const { config } = this;
    this.#etcd = new EtcdModel(() => clock.unixMs());
    this.#etcd.onChange = (key, pair) => {
      if (key === this.#keys.head && pair !== undefined) this.#onCommit(readHead(pair));
    };
    this.#keyholder = new Keyholder(config, new Random(seed, KEYHOLDER));
    const server = l1Server({
      l1,
      chainId: config.l1ChainId,
      earliestInclusionMs: () => clock.unixMs(),
      onSubmitted: (text: string) => log.note("l1", text),
      hasRawMethods: () => true,
    });
    const knownBlocks = new KnownBlocks();
    const deps = { clock, config, log, random, keys: this.#keys, etcd: this.#etcd };
    this.machines = ["s1", "s2", "s3", "follower"].map((name) => {
      const machine: Machine = new Machine(name, { ...deps, peers: () => this.#peersOf(machine) });
      const mayLead = name !== "follower";
      machine.node = new SimNode(
        {
          name,
          isSequencer: mayLead,
          maxLatencyMs: 5,
          l1PollMs: 1_500,
          sequencerConfs: 0,
          verifierConfs: 0,
          keepsSafeHeads: false,
          engine: "simulated",
        },
        {
          derivation: { rollup: config, l1BlobSchedule: [] },
          knownBlocks,
          clock,
          random: new Random(seed, name),
          l1,
          l1Server: server,
          beacon: undefined,
          da: undefined,
          log,
          time: machine.nodeTime,
          observer: () => ({}),
          conductor: mayLead ? (process) => machine.conductorClient(process) : undefined,
          requestGap: ({ start, end }) => this.#answerGap(machine, start.number, end.number),
          gossip: (_, envelope) => this.#publish(machine, envelope),
          onEnded: (_, reason) => this.report("node-stopped", `${name}: ${reason}`),
        },
      );
      return machine;
    });
    this.batcher = new SimBatcher(
      {
        key: BATCHER_KEY,
        maxLatencyMs: 5,
        usesBlobs: false,
        hasCommitments: false,
        args: ["--poll-interval=1s", "--max-channel-duration=1", "--num-confirmations=1", "--txmgr.receipt-query-interval=2s"],
      },
      {
        config,
        clock,
        random: new Random(seed, "batcher"),
        l1,
        l1Server: server,
        log,
        sequencers: this.machines.slice(0, -1).map(({ node }) => node),
        areBlobsRead: () => false,
        onChannel: () => {},
        da: undefined,
      },
    );
  }

  /** The leader by etcd. */
  get leader(): Machine | undefined {
    const pair = this.#etcd.get(this.#keys.leader);
    return pair && this.machines.find(({ name }) => name === readLeader(pair).id);
  }

  get committedHead(): { readonly number: number; readonly hash: Hex } | undefined {
    return this.commits.at(-1);
  }

  start(): void {
    const { clock } = this;
    const signer = SIGNER;
    for (const machine of this.machines) {
      machine.node.start();
      const { process } = machine.node;
      machine.gossip = new SimGossip(this.config, signer, {
        clock: process!.clock,
        log: this.log.loggerOf(machine.name),
        accept: (envelope) => machine.node.receive(envelope),
        pass: (message, from) => this.#pass(machine.name, message, from),
      });
      for (const { name } of this.machines) if (name !== machine.name) machine.gossip.connect(name);
      machine.gossip.connect(KEYHOLDER);
      void (async () => {
        for (;;) {
          await process!.clock.sleep(HEARTBEAT_MS);
          machine.gossip.judge.sample();
          machine.gossip.decay();
        }
      })();
    }
    for (const machine of this.machines.slice(0, -1)) machine.startConductor(machine.name === "s1");
    this.batcher.start();
    const mine = (): void => {
      this.l1.mine(clock.unixMs());
      clock.after(L1_BLOCK_TIME_SEC * 1000, mine);
    };
    clock.after(L1_BLOCK_TIME_SEC * 1000, mine);
    const send = (): void => {
      (this.leader ?? this.machines[0]!).node.engine.addUserTransaction(userTransaction(this.config, this.#userNonce++));
      clock.after(1_700, send);
    };
    clock.after(1_700, send);
  }

  async run(ms: number): Promise<void> {
    await this.clock.advance(ms, () => {
      this.#etcd.expireLeases();
      this.#checkSafe();
    });
  }

  report(rule: ClusterViolation["rule"], detail: string): void {
    if (this.violations.some((other) => other.rule === rule && other.detail === detail)) return;
    this.violations.push({ rule, detail });
    this.log.note("VIOLATION", `${rule}: ${detail}`);
  }

  /** The attacker sends blocks of this kind to all nodes. */
  async attack(kind: KeyholderFault): Promise<void> {
    const { engine } = (this.leader ?? this.machines[0]!).node;
    const newest = engine.head.number;
    const chain: ExecutionPayloadEnvelope[] = [];
    for (let number = Math.max(1, newest - REMEMBERED_BLOCKS); number <= newest; number++) {
      const payload = engine.canonicalPayload(number);
      if (payload !== undefined) chain.push(payload);
    }
    for (const envelope of this.#keyholder.blocks(kind, chain)) {
      this.log.note(KEYHOLDER, `${kind} ${envelope.executionPayload.blockNumber} ${hashHex(envelope).slice(0, 10)}…`);
      this.#pass(KEYHOLDER, await this.#signed(envelope), undefined);
    }
  }

  /** Whether a node has all committed blocks but the newest few. */
  follows({ node }: Machine, missing = 3): boolean {
    const number = Math.max(0, (this.committedHead?.number ?? 0) - missing);
    return number === 0 || node.engine.canonicalRef(number)?.hash === this.#committed.get(number);
  }

  /** No honest peer has a bad score, or is paused. */
  checkScores(): void {
    for (const { name, gossip } of this.machines) {
      for (const { name: peer } of this.machines) {
        if (peer === name) continue;
        const score = gossip.scoreOf(peer);
        if (score < 0) this.report("blamed", `${name} gives ${peer} the score ${score.toFixed(1)}`);
        if (!gossip.isOpen(peer)) this.report("blamed", `${name} does not read ${peer}`);
      }
    }
  }

  /** All committed blocks are in the chains of all nodes. */
  checkNothingLost(): void {
    for (const machine of this.machines) {
      for (const [number, hash] of this.#committed) {
        if (number > this.commits.at(-1)!.number - 3) break;
        const has = machine.node.engine.canonicalRef(number)?.hash;
        if (has === hash) continue;
        this.report("lost", `${machine.name} has ${has?.slice(0, 10) ?? "nothing"} for committed block ${number}`);
        break;
      }
    }
  }

  async remove(): Promise<void> {
    this.batcher.kill();
    for (const { node, conductor } of this.machines) {
      conductor?.process.kill();
      await node.remove();
    }
  }

  #peersOf({ gossipState: { isInLost, isOutLost } }: Machine): number {
    return isInLost && isOutLost ? 0 : this.machines.length - 1;
  }

  #onCommit({ number, hash, parentHash, leader }: HeadRecord): void {
    const last = this.commits.at(-1);
    if (last?.hash === hash) return;
    if (last !== undefined && (parentHash !== last.hash || number !== last.number + 1))
      this.report(
        "one-chain",
        `block ${number} of ${leader} was committed, which does not follow ${last.number} of ${last.leader}`,
      );
    this.#committed.set(number, hash as Hex);
    this.commits.push({ atMs: this.clock.unixMs(), number, hash: hash as Hex, leader });
    this.log.note("etcd", `${leader} committed block ${number} ${hash.slice(0, 10)}…`);
  }

  #checkSafe(): void {
    for (const { name, node } of this.machines) {
      const safe = node.heads?.safe;
      if (safe === undefined || safe.number === 0) continue;
      if (this.#committed.get(safe.number) !== safe.hash)
        this.report("wrong-safe", `${name} calls block ${safe.number} ${safe.hash.slice(0, 10)} safe, which was not committed`);
    }
  }

  async #signed(envelope: ExecutionPayloadEnvelope): Promise<SimMessage> {
    return simMessage(this.config, envelope, await signBlock(this.config, envelope, localSigner(SEQUENCER_KEY)));
  }

  async #publish({ name, gossip }: Machine, envelope: ExecutionPayloadEnvelope): Promise<Published> {
    const { blockNumber } = envelope.executionPayload;
    if (this.#committed.get(blockNumber) !== hashHex(envelope))
      this.report("released", `${name} released block ${blockNumber}, which was not committed`);
    const reason = gossip.publish(await this.#signed(envelope));
    return reason === undefined ? { kind: "published" } : { kind: "refused", reason };
  }

  #pass(sender: string, message: SimMessage, from: string | undefined): void {
    const { clock, random } = this;
    const out = this.machines.find(({ name }) => name === sender)?.gossipState;
    if (out?.isOutLost) return;
    for (const machine of this.machines) {
      const { name, gossipState: state } = machine;
      if (name === sender || name === from || state.isInLost) continue;
      const times = state.isTwice || out?.isTwice ? 2 : 1;
      for (let i = 0; i < times; i++) {
        const delayMs = random.between(1, 30) + state.delayMs + (out?.delayMs ?? 0) + i * random.between(0, 5_000);
        clock.after(delayMs, () => machine.receive(sender, message));
      }
    }
  }

  /** Peers answer requests for missing blocks, the highest first. */
  #answerGap(asking: Machine, after: number, before: number): void {
    const { clock, random } = this;
    const { isInLost, isOutLost, delayMs } = asking.gossipState;
    if (isInLost || isOutLost) return;
    const peers = this.machines.filter(
      (machine) => machine !== asking && !machine.isStopped && !machine.gossipState.isInLost && !machine.gossipState.isOutLost,
    );
    if (peers.length === 0) return;
    const peer = random.pick(peers);
    for (let number = Math.min(before - 1, peer.node.engine.head.number), i = 1; number > after && i <= 200; number--, i++) {
      const payload = peer.node.engine.canonicalPayload(number);
      if (payload === undefined) continue;
      clock.after(random.between(5, 30) * i + delayMs, () => {
        void asking.node.process?.wait(Promise.resolve()).then(() => asking.node.receive(payload));
      });
    }
  }
}
