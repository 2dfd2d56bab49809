import { bytesToHex, type Hex, keccak256, privateKeyToAddress } from "@rnode/primitives";
import { SimClock } from "@rnode/program/testing";
import {
  encodeTransaction,
  forksUpTo,
  isDepositTransaction,
  logFromRpc,
  messageHash,
  PREDEPLOYS,
  type RollupConfig,
  replacedOutput,
  signTransaction,
} from "@rnode/protocol";
import { afterEach, describe, expect, it } from "vitest";
import { INTEROP_CONTRACTS, MESSAGE_EMITTER } from "./interop-contracts.ts";
import { l1Server } from "./l1-rpc.ts";
import { configOf, GENESIS_TIME_SEC, type Plan, planOf, USER_ADDRESS, USER_KEY } from "./plan.ts";
import { Random } from "./random.ts";
import { realGenesisHash } from "./real-engine.ts";
import { SimBatcher } from "./sim-batcher.ts";
import { KnownBlocks } from "./sim-block.ts";
import { SimL1 } from "./sim-l1.ts";
import { SimLog } from "./sim-log.ts";
import { SimNode } from "./sim-node.ts";
import { linkTo, SimSupervisor, validateMessageCalldata } from "./sim-supervisor.ts";

const PLAN: Plan = {
  ...planOf(1, { hasUpgradeCode: false }),
  l1BlockTimeSec: 6,
  blockTimeSec: 2,
  seqWindowSize: 20,
  channelTimeout: 10,
  maxSequencerDriftSec: 600,
  verifiers: 1,
  maxLatencyMs: 0,
  sequencerConfs: 0,
  verifierConfs: 0,
  finalDistance: 5,
  forkTimes: forksUpTo("interop"),
  usesBlobs: false,
  blobSource: "l1",
  batcherArgs: [
    "--poll-interval=1s",
    "--max-channel-duration=1",
    "--sub-safety-margin=2",
    "--num-confirmations=1",
    "--batch-type=0",
    "--resubmission-timeout=20s",
    "--txmgr.receipt-query-interval=2s",
  ],
  engine: "R",
  faults: [],
};

interface Chain {
  readonly id: bigint;
  readonly config: RollupConfig;
  readonly sequencer: SimNode;
  readonly verifier: SimNode;
  readonly nodes: readonly SimNode[];
  readonly batcher: SimBatcher;
  /** Sends a user's transaction. @param nonce default: the next one */
  send(to: Uint8Array, data: Uint8Array, nonce?: number): number;
}

/** Two chains over one L1, each with a sequencer, a verifier and a batcher; one supervisor drives all four nodes. */
class Cluster {
  readonly clock = new SimClock(GENESIS_TIME_SEC * 1000);
  readonly log = new SimLog(this.clock, true);
  readonly l1 = new SimL1({
    genesisTimeSec: GENESIS_TIME_SEC,
    blockTimeSec: 6,
    safeDistance: 4,
    finalDistance: PLAN.finalDistance,
  });
  readonly ended: string[] = [];
  /** what the supervisor called invalid */
  readonly invalid: { readonly chainId: bigint; readonly number: number }[] = [];
  readonly chains: readonly [Chain, Chain];
  readonly supervisor: SimSupervisor;

  constructor(onInvalid: (cluster: Cluster, chain: Chain) => void, { resets = true } = {}) {
    const { l1, clock } = this;
    const server = l1Server({
      l1,
      chainId: 900n,
      earliestInclusionMs: () => clock.unixMs(),
      onSubmitted: () => {},
      hasRawMethods: () => false,
    });
    const chain = (id: bigint): Chain => {
      const tag = Number(id & 0xffn);
      const batcherKey = new Uint8Array(32).fill(tag);
      const base = configOf({ ...PLAN, engine: "simulated" }, l1.blocks[0]!.ref);
      const unsealed: RollupConfig = {
        ...base,
        l2ChainId: id,
        batchInboxAddress: new Uint8Array(20).fill(tag),
        genesis: {
          ...base.genesis,
          systemConfig: { ...base.genesis.systemConfig, batcherAddress: privateKeyToAddress(batcherKey) },
        },
      };
      const hash = realGenesisHash(unsealed, USER_ADDRESS, INTEROP_CONTRACTS);
      const config: RollupConfig = { ...unsealed, genesis: { ...unsealed.genesis, l2: { hash, number: 0 } } };
      const nodes: SimNode[] = [];
      const node = (role: string): SimNode => {
        const made = new SimNode(
          {
            name: `${role}-${id}`,
            isSequencer: role === "sequencer",
            maxLatencyMs: 0,
            l1PollMs: 1500,
            sequencerConfs: 0,
            verifierConfs: 0,
            keepsSafeHeads: role === "verifier",
            engine: "R",
            contracts: INTEROP_CONTRACTS,
            isManaged: true,
          },
          {
            derivation: { rollup: config, l1BlobSchedule: [], upgradeArtifact: undefined },
            knownBlocks: new KnownBlocks(),
            clock,
            random: new Random(1, `${role}-${id}`),
            l1,
            l1Server: server,
            beacon: undefined,
            da: undefined,
            log: this.log,
            gossip: (from, envelope) => {
              for (const other of nodes) if (other.name !== from) clock.after(20, () => other.receive(envelope));
              return { kind: "published" };
            },
            observer: () => ({}),
            onEnded: (of, reason) => this.ended.push(`${of.name}: ${reason}`),
          },
        );
        nodes.push(made);
        return made;
      };
      const sequencer = node("sequencer");
      const verifier = node("verifier");
      const batcher = new SimBatcher(
        { key: batcherKey, maxLatencyMs: 0, args: PLAN.batcherArgs, usesBlobs: false, hasCommitments: false },
        {
          config,
          clock,
          random: new Random(1, `batcher-${id}`),
          l1,
          l1Server: server,
          sequencers: [sequencer],
          log: this.log,
          areBlobsRead: () => false,
          onChannel: () => {},
          da: undefined,
        },
      );
      let next = 0;
      const send = (to: Uint8Array, data: Uint8Array, nonce = next++): number => {
        const fees = { maxFeePerGas: 10n, maxPriorityFeePerGas: 1n, gasLimit: 90_000n };
        const tx = { type: 2 as const, chainId: id, ...fees, nonce: BigInt(nonce), to, value: 0n, data, accessList: [] };
        sequencer.engine.addUserTransaction(encodeTransaction(signTransaction(tx, USER_KEY)));
        return nonce;
      };
      return { id, config, sequencer, verifier, nodes, batcher, send };
    };
    this.chains = [chain(901n), chain(902n)];
    this.supervisor = new SimSupervisor({
      l1: {
        blockAt: (number) => l1.blocks[number]?.ref,
        finalizedNumber: () => l1.finalized.ref.number,
        isCanonical: (block) => l1.isCanonical(block),
      },
      clock,
      resets,
      onInvalid: (chainId, number) => {
        this.invalid.push({ chainId, number });
        onInvalid(this, this.chains.find(({ id }) => id === chainId)!);
      },
    });
  }

  start(): void {
    for (const { id, nodes, batcher } of this.chains) {
      for (const node of nodes) {
        node.start();
        this.supervisor.add(node.name, id, linkTo(node.managed!));
      }
      batcher.start();
    }
    this.supervisor.start();
    this.#mine();
  }

  restart(chain: Chain, node: SimNode): void {
    node.kill();
    node.start();
    this.supervisor.add(node.name, chain.id, linkTo(node.managed!));
  }

  run(seconds: number): Promise<void> {
    return this.clock.advance(seconds * 1000);
  }

  #mine(): void {
    this.clock.after(6_000, () => {
      this.l1.mine(this.clock.unixMs());
      this.#mine();
    });
  }

  member(node: SimNode) {
    return this.supervisor.members.find(({ name }) => name === node.name)!;
  }

  /** The message that a chain's user last initiated: where it is, and its hash. */
  async lastMessage({ id, sequencer }: Chain) {
    for (let number = sequencer.engine.head.number; number > 0; number--) {
      const ref = sequencer.engine.canonicalRef(number)!;
      const receipts = await this.member(sequencer).call<{ logs: unknown[] }[]>("fetchReceipts", ref.hash);
      const log = receipts
        .flatMap(({ logs }) => logs.map(logFromRpc))
        .find(({ address }) => bytesToHex(address) === bytesToHex(MESSAGE_EMITTER));
      if (log === undefined) continue;
      const at = { origin: MESSAGE_EMITTER, blockNumber: number, logIndex: log.logIndex, timestamp: ref.timestamp, chainId: id };
      return { at, payloadHash: messageHash(log) };
    }
    throw new Error(`no message on chain ${id}`);
  }

  async remove(): Promise<void> {
    this.supervisor.stop();
    for (const { nodes, batcher } of this.chains) {
      batcher.kill();
      for (const node of nodes) await node.remove();
    }
  }
}

const clusters: Cluster[] = [];
afterEach(async () => {
  for (const cluster of clusters.splice(0)) await cluster.remove();
});

const executing = (message: Awaited<ReturnType<Cluster["lastMessage"]>>): Uint8Array =>
  validateMessageCalldata(message.at, message.payloadHash);
const label = (node: SimNode, name: string): { readonly hash: Hex; readonly number: number } =>
  (node.syncStatus() as Record<string, { hash: Hex; number: number }>)[name]!;
/** The block in which the user's transaction with a nonce is. */
function blockOfUser({ sequencer }: Chain, nonce: number): number {
  let seen = 0;
  for (let number = 1; number <= sequencer.engine.head.number; number++) {
    const { transactions } = sequencer.engine.canonicalPayload(number)!.executionPayload;
    seen += transactions.filter((transaction) => !isDepositTransaction(transaction)).length;
    if (seen > nonce) return number;
  }
  throw new Error(`the transaction with nonce ${nonce} is in no block`);
}

/** A message that was never initiated: its block has no such log. */
const nowhere = (chainId: bigint): Awaited<ReturnType<Cluster["lastMessage"]>> => ({
  at: { origin: MESSAGE_EMITTER, blockNumber: 1, logIndex: 7, timestamp: GENESIS_TIME_SEC + 2, chainId },
  payloadHash: new Uint8Array(32),
});

/** All nodes of a chain have the same blocks as far as all call them safe. */
function expectAgreement({ chains }: Cluster): void {
  for (const { nodes } of chains) {
    const lowest = Math.min(...nodes.map((node) => label(node, "safe_l2").number));
    expect(new Set(nodes.map(({ engine }) => engine.canonicalRef(lowest)!.hash)).size).toBe(1);
  }
}

describe("two chains whose messages cross, under one supervisor", () => {
  it("call blocks safe when what they depend on is, and replace the one with an invalid message on all nodes", async () => {
    let wrongNonce = -1;
    const cluster = new Cluster((_, chain) => {
      // Its pool would not keep the transaction: rengine's asks a supervisor. A plain one takes its place.
      chain.send(new Uint8Array(20).fill(9), new Uint8Array(), wrongNonce);
    });
    clusters.push(cluster);
    cluster.start();
    const [a, b] = cluster.chains;
    await cluster.run(10);
    a.send(MESSAGE_EMITTER, Uint8Array.of(1, 2, 3));
    b.send(MESSAGE_EMITTER, Uint8Array.of(4, 5));
    await cluster.run(6);
    const [fromA, fromB] = [await cluster.lastMessage(a), await cluster.lastMessage(b)];
    const onB = b.send(PREDEPLOYS.crossL2Inbox, executing(fromA));
    const onA = a.send(PREDEPLOYS.crossL2Inbox, executing(fromB));
    await cluster.run(6);
    const [validOnA, validOnB] = [blockOfUser(a, onA), blockOfUser(b, onB)];
    // derived from L1 nowhere yet: its messages are not checked
    expect(label(b.sequencer, "cross_unsafe_l2").number).toBeLessThan(validOnB);
    expect(label(b.sequencer, "unsafe_l2").number).toBeGreaterThanOrEqual(validOnB);
    await cluster.run(60);
    for (const [chain, number] of [
      [a, validOnA],
      [b, validOnB],
    ] as const) {
      for (const node of chain.nodes) {
        expect(label(node, "safe_l2").number).toBeGreaterThan(number);
        expect(label(node, "cross_unsafe_l2").number).toBeGreaterThanOrEqual(label(node, "safe_l2").number);
        expect(label(node, "finalized_l2").number).toBeGreaterThan(0);
        const { number: safe, hash } = label(node, "safe_l2");
        expect(chain.sequencer.engine.canonicalRef(safe)!.hash).toBe(hash);
      }
    }
    expect(cluster.invalid).toEqual([]);

    // The message exists, and says something else.
    wrongNonce = b.send(PREDEPLOYS.crossL2Inbox, executing({ ...fromA, payloadHash: keccak256(Uint8Array.of(9)) }));
    await cluster.run(3);
    const wrong = blockOfUser(b, wrongNonce);
    const wrongHash = b.sequencer.engine.canonicalRef(wrong)!.hash;
    await cluster.run(120);
    expect(cluster.ended).toEqual([]);
    expect(new Set(cluster.invalid.map(({ chainId, number }) => `${chainId} ${number}`))).toEqual(new Set([`902 ${wrong}`]));
    const hashes = b.nodes.map((node) => {
      const { blockHash, transactions, timestamp } = node.engine.canonicalPayload(wrong)!.executionPayload;
      expect(timestamp).toBe(GENESIS_TIME_SEC + 2 * wrong);
      expect(transactions.every(isDepositTransaction)).toBe(true);
      expect(bytesToHex(replacedOutput(transactions)!.blockHash)).toBe(wrongHash);
      expect(cluster.member(node).replaced).toEqual([
        { number: wrong, invalidated: wrongHash, replacement: bytesToHex(blockHash) },
      ]);
      return bytesToHex(blockHash);
    });
    expect(new Set(hashes).size).toBe(1);
    for (const chain of cluster.chains) {
      const safe = chain.nodes.map((node) => label(node, "safe_l2"));
      for (const { number } of safe) expect(number).toBeGreaterThan(wrong + 10);
    }
    expectAgreement(cluster);
    // the chain before it is as it was
    expect(
      b.verifier.engine.canonicalPayload(validOnB)!.executionPayload.transactions.some((tx) => !isDepositTransaction(tx)),
    ).toBe(true);
  }, 120_000);

  it.each([
    ["that resets them", true],
    ["that does not", false],
  ])(
    "go on where they were after nodes were killed, also from a replacement, with a supervisor %s",
    { tags: "long", timeout: 120_000 },
    async (_name, resets) => {
      let wrongNonce = -1;
      const replaceTransaction = (_: Cluster, chain: Chain): void =>
        void chain.send(new Uint8Array(20).fill(9), new Uint8Array(), wrongNonce);
      const cluster = new Cluster(replaceTransaction, { resets });
      clusters.push(cluster);
      cluster.start();
      const [a, b] = cluster.chains;
      await cluster.run(40);
      const before = label(a.verifier, "safe_l2").number;
      expect(before).toBeGreaterThan(0);
      cluster.restart(a, a.verifier);
      wrongNonce = b.send(PREDEPLOYS.crossL2Inbox, executing(nowhere(a.id)));
      while (b.nodes.some((node) => cluster.member(node).replaced.length === 0)) await cluster.run(1);
      const { number: wrong, replacement } = cluster.member(b.verifier).replaced[0]!;
      for (const node of b.nodes) cluster.restart(b, node);
      await cluster.run(120);
      expect(cluster.ended).toEqual([]);
      for (const node of b.nodes) expect(node.engine.canonicalRef(wrong)!.hash).toBe(replacement);
      for (const { nodes } of [a, b]) {
        for (const node of nodes) expect(label(node, "safe_l2").number).toBeGreaterThan(Math.max(before, wrong) + 20);
      }
      expectAgreement(cluster);
    },
  );

  it("follow a reorganisation of L1", { tags: "long", timeout: 120_000 }, async () => {
    const cluster = new Cluster(() => {});
    clusters.push(cluster);
    cluster.start();
    await cluster.run(50);
    const before = cluster.chains.map(({ verifier }) => label(verifier, "safe_l2").number);
    expect(cluster.l1.reorg(3, "returned", cluster.clock.unixMs())).toBe(3);
    await cluster.run(150);
    expect(cluster.ended).toEqual([]);
    cluster.chains.forEach(({ nodes }, i) => {
      for (const node of nodes) expect(label(node, "safe_l2").number).toBeGreaterThan(before[i]! + 20);
    });
    for (const { nodes } of cluster.chains) {
      for (const { engine } of nodes) {
        const { l1Origin } = engine.canonicalRef(before[0]!)!;
        expect(cluster.l1.isCanonical(l1Origin)).toBe(true);
      }
    }
    expectAgreement(cluster);
  });
});
