import { bytesToHex, type Hex, privateKeyToAddress } from "@rnode/primitives";
import { SimClock } from "@rnode/program/testing";
import {
  encodeTransaction,
  forksUpTo,
  isDepositTransaction,
  logFromRpc,
  messageHash,
  PREDEPLOYS,
  type RollupConfig,
  type RpcLog,
  signTransaction,
} from "@rnode/protocol";
import { afterEach, describe, expect, it } from "vitest";
import { EXECUTING_MESSAGE_TOPIC, INTEROP_CONTRACTS, MESSAGE_EMITTER, validateMessageCalldata } from "./interop-contracts.ts";
import { l1Server } from "./l1-rpc.ts";
import { configOf, GENESIS_TIME_SEC, type Plan, planOf, USER_ADDRESS, USER_KEY } from "./plan.ts";
import { Random } from "./random.ts";
import { realGenesisHash } from "./real-engine.ts";
import { SimBatcher } from "./sim-batcher.ts";
import { KnownBlocks } from "./sim-block.ts";
import { SimL1 } from "./sim-l1.ts";
import { SimLog } from "./sim-log.ts";
import { SimNode } from "./sim-node.ts";

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
  forkTimes: forksUpTo("lagoon"),
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

/** Two chains over one L1, each with a sequencer, a verifier and a batcher. */
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
  readonly chains: readonly [Chain, Chain];

  constructor() {
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
  }

  start(): void {
    for (const { nodes, batcher } of this.chains) {
      for (const node of nodes) node.start();
      batcher.start();
    }
    this.#mine();
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

  /** The logs of a contract in a block of the chain. */
  async logsOf({ sequencer }: Chain, number: number, contract: Uint8Array): Promise<RpcLog[]> {
    const receipts = await sequencer.engine.handle("eth_getBlockReceipts", [sequencer.engine.canonicalRef(number)!.hash]);
    return (receipts as { logs: unknown[] }[])
      .flatMap(({ logs }) => logs.map(logFromRpc))
      .filter(({ address }) => bytesToHex(address) === bytesToHex(contract));
  }

  /** The message that a chain's user last initiated: where it is, and its hash. */
  async lastMessage(chain: Chain) {
    const { engine } = chain.sequencer;
    for (let number = engine.head.number; number > 0; number--) {
      const [log] = await this.logsOf(chain, number, MESSAGE_EMITTER);
      if (log === undefined) continue;
      const { timestamp } = engine.canonicalRef(number)!;
      const at = { origin: MESSAGE_EMITTER, blockNumber: number, logIndex: log.logIndex, timestamp, chainId: chain.id };
      return { at, payloadHash: messageHash(log) };
    }
    throw new Error(`no message on chain ${chain.id}`);
  }

  async remove(): Promise<void> {
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

/** All nodes of a chain have the same blocks as far as all call them safe. */
function expectAgreement({ chains }: Cluster): void {
  for (const { nodes } of chains) {
    const lowest = Math.min(...nodes.map((node) => label(node, "safe_l2").number));
    expect(new Set(nodes.map(({ engine }) => engine.canonicalRef(lowest)!.hash)).size).toBe(1);
  }
}

describe("two chains over one L1, whose messages cross", () => {
  it("execute each other's messages in blocks that all their nodes call safe, and final", async () => {
    const cluster = new Cluster();
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
    await cluster.run(60);
    expect(cluster.ended).toEqual([]);
    for (const [chain, number, { payloadHash }] of [
      [a, blockOfUser(a, onA), fromB],
      [b, blockOfUser(b, onB), fromA],
    ] as const) {
      const [executed] = await cluster.logsOf(chain, number, PREDEPLOYS.crossL2Inbox);
      expect(executed!.topics.map(bytesToHex)).toEqual([EXECUTING_MESSAGE_TOPIC, payloadHash].map(bytesToHex));
      for (const node of chain.nodes) {
        expect(label(node, "safe_l2").number).toBeGreaterThan(number);
        expect(label(node, "local_safe_l2")).toEqual(label(node, "safe_l2"));
        expect(label(node, "finalized_l2").number).toBeGreaterThan(0);
        // derived from L1 as it was sequenced
        expect(node.engine.canonicalRef(number)!.hash).toBe(chain.sequencer.engine.canonicalRef(number)!.hash);
      }
    }
    expectAgreement(cluster);
  });

  it("follow a reorganisation of L1", { tags: "long" }, async () => {
    const cluster = new Cluster();
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
