import { deflateSync } from "node:zlib";
import { createDecompressor } from "@rnode/compression";
import { createDerivationPipeline, type DerivationConfig, type L1BlockHeader, type L1Provider } from "@rnode/derivation";
import { L1Error } from "@rnode/l1";
import { type Hex, isCriticalError, privateKeyToAddress, uint64ToBytes } from "@rnode/primitives";
import { ManualClock } from "@rnode/primitives/testing";
import {
  batchInputFromPayload,
  encodeBatcherData,
  encodeTransaction,
  type FeeMarketTransaction,
  type L1Transaction,
  type L2BlockRef,
  type Receipt,
  type RollupConfig,
  type SpanBatchInput,
  signTransaction,
} from "@rnode/protocol";
import { singularBatch, spanBatch } from "@rnode/protocol/testing";
import { BlocksAhead } from "../derive/blocks-ahead.ts";
import { attributesPreparer } from "../derive/prepare-attributes.ts";
import { headsFinder } from "../safe/find-heads.ts";
import type { SafeHeadDatabase } from "../safe/safe-head-database.ts";
import { FakeEngine, FakeL1, GENESIS_TIME_SEC, L1_BLOCK_TIME_SEC, testConfig } from "./fake-chain.ts";
import { createHarness, type Harness } from "./harness.ts";

const BATCHER_KEY = new Uint8Array(32).fill(0x0b);
const USER_KEY = new Uint8Array(32).fill(0x0c);
const LOG_BLOOM = new Uint8Array(256);
const FINALITY_DISTANCE = 6;

function receiptOf(type: number): Receipt {
  return { type, status: 1, cumulativeGasUsed: 21_000n, bloom: LOG_BLOOM, logs: [] };
}

function batcherTransaction(config: RollupConfig, nonce: number, data: Uint8Array): FeeMarketTransaction {
  const tx: FeeMarketTransaction = {
    type: 0x02,
    chainId: config.l1ChainId,
    nonce: BigInt(nonce),
    maxPriorityFeePerGas: 1n,
    maxFeePerGas: 10n,
    gasLimit: 100_000n,
    to: config.batchInboxAddress,
    value: 0n,
    data,
    accessList: [],
  };
  return signTransaction(tx, BATCHER_KEY);
}

function simConfig(): RollupConfig {
  const base = testConfig();
  const systemConfig = { ...base.genesis.systemConfig, batcherAddress: privateKeyToAddress(BATCHER_KEY) };
  return testConfig("jovian", { seqWindowSize: 20, genesis: { ...base.genesis, systemConfig } });
}

/** L1 as one node sees it. */
export class L1Endpoint implements L1Provider {
  private readonly l1: L1Provider;
  /** blocks appear to have no transactions, although their hashes are right */
  hidesTransactions = false;

  constructor(l1: L1Provider) {
    this.l1 = l1;
  }

  blockByNumber(number: number): Promise<L1BlockHeader | undefined> {
    return this.l1.blockByNumber(number);
  }

  blockByHash(hash: Hex): Promise<L1BlockHeader | undefined> {
    return this.l1.blockByHash(hash);
  }

  receipts(blockHash: Hex): Promise<readonly Receipt[] | undefined> {
    return this.l1.receipts(blockHash);
  }

  transactions(blockHash: Hex): Promise<readonly L1Transaction[] | undefined> {
    return this.hidesTransactions ? Promise.resolve([]) : this.l1.transactions(blockHash);
  }
}

/** A rollup node with the real pipeline. Its engine outlives it. */
export class SimNode {
  readonly engine: FakeEngine;
  /** what this node reads of the network's L1 */
  readonly l1: L1Endpoint;
  /** its safe-head database, if the network has them */
  safeHeads: SafeHeadDatabase | undefined;
  harness: Harness;
  restarts = 0;
  private readonly network: SimNetwork;
  private readonly isSequencer: boolean;

  constructor(network: SimNetwork, isSequencer: boolean) {
    this.network = network;
    this.isSequencer = isSequencer;
    this.engine = new FakeEngine(network.config);
    this.engine.maxBlocksPerCall = isSequencer ? undefined : 5;
    this.l1 = new L1Endpoint(network.l1);
    this.harness = this.create();
  }

  /** Kills the node, and starts a new one with nothing but the engine and L1. */
  restart(): void {
    this.restarts++;
    this.harness = this.create();
  }

  private create(): Harness {
    const { network, engine, isSequencer } = this;
    this.safeHeads = network.openSafeHeads?.(this.safeHeads) ?? undefined;
    const { safeHeads } = this;
    const { config, l1, clock } = network;
    const derivation: DerivationConfig = { rollup: config, l1BlobSchedule: [] };
    const ahead = new BlocksAhead(engine, config);
    const blobs = { blobs: () => Promise.reject(new Error("no blobs here")) };
    const providers = { l1: this.l1, blobs, l2: ahead, decompressor: createDecompressor() };
    let finder: ReturnType<typeof headsFinder> | undefined;
    const harness = createHarness({
      config,
      clock,
      engine,
      l1,
      safeHeads,
      real: {
        ahead,
        isCritical: isCriticalError,
        createPipeline: (observer) => createDerivationPipeline(derivation, { ...providers, observer }),
        prepareAttributes: attributesPreparer(derivation, { l1, l2: engine }),
        findHeads: (log, rewind) => {
          finder ??= headsFinder(derivation, { l1, l2: engine }, log, safeHeads);
          return finder(rewind);
        },
      },
    });
    if (isSequencer) harness.sequencer.start();
    return harness;
  }
}

/** An L1, a sequencer, a batcher and a verifier, with a common clock that stands still between calls of `step`. */
export class SimNetwork {
  readonly config = simConfig();
  readonly clock = new ManualClock(GENESIS_TIME_SEC * 1_000);
  readonly l1 = new FakeL1(1);
  readonly sequencer: SimNode;
  readonly verifier: SimNode;
  /** what the batcher sends next, instead of the blocks of the sequencer that follow the safe one */
  nextBatches: ((blocks: readonly SpanBatchInput[]) => readonly SpanBatchInput[]) | undefined;
  /** while set, L1 does not answer anybody */
  isL1Down = false;
  private nextL1Ms: number;
  private branch = "a";
  private batcherNonce = 0;
  private userNonce = 0;
  private batched: L2BlockRef | undefined;

  /** opens the safe-head database of a node; `before`: that of the node that was killed */
  readonly openSafeHeads: ((before: SafeHeadDatabase | undefined) => SafeHeadDatabase) | undefined;

  constructor(openSafeHeads?: (before: SafeHeadDatabase | undefined) => SafeHeadDatabase) {
    this.openSafeHeads = openSafeHeads;
    this.sequencer = new SimNode(this, true);
    this.verifier = new SimNode(this, false);
    this.nextL1Ms = this.clock.now + L1_BLOCK_TIME_SEC * 1_000;
  }

  get nodes(): readonly SimNode[] {
    return [this.sequencer, this.verifier];
  }

  async run(ms: number, stepMs = 500): Promise<void> {
    for (let passed = 0; passed < ms; passed += stepMs) await this.step(stepMs);
  }

  async step(ms: number): Promise<void> {
    this.clock.advance(ms);
    this.l1.failure = this.isL1Down ? new L1Error("l1/unavailable", {}) : undefined;
    if (this.clock.now >= this.nextL1Ms) {
      this.nextL1Ms += L1_BLOCK_TIME_SEC * 1_000;
      this.mine();
    }
    if (this.userNonce % 3 === 0 || this.clock.now % 4_000 === 0) this.sequencer.engine.pool.push(this.userTransaction());
    for (const { harness } of this.nodes) await harness.untilIdle();
  }

  /** L1 loses its newest blocks and their content. */
  reorgL1(depth: number): void {
    const undone = Math.min(depth, this.l1.blocks.length - 1);
    this.branch += "r";
    this.l1.reorg(undone, 0, this.branch);
    for (let i = 0; i < undone; i++) this.mine();
  }

  private mine(): void {
    const transactions = this.batch();
    this.l1.extend(1, this.branch, { transactions, receipts: transactions.map(({ type }) => receiptOf(type)) });
    const finalized = this.l1.blocks[this.l1.head.number - FINALITY_DISTANCE];
    for (const { harness } of this.nodes) {
      harness.derivation.onL1Change();
      if (finalized !== undefined) harness.finalizer.onL1Finalized(finalized);
      harness.signals.wake();
    }
  }

  /** What a batcher sends. It starts again from the safe head whenever that has fallen behind what was sent. */
  private batch(): FeeMarketTransaction[] {
    const { control } = this.sequencer.harness;
    const heads = control.headsIfKnown;
    if (heads === undefined) return [];
    const chain = this.sequencer.engine.chain();
    const isStillThere = this.batched !== undefined && chain[this.batched.number]?.ref.hash === this.batched.hash;
    const window = 5 * (L1_BLOCK_TIME_SEC / this.config.blockTimeSec);
    const isStuck = this.batched !== undefined && this.batched.number > heads.safe.number + window;
    const from = isStillThere && !isStuck ? this.batched! : heads.safe;
    const blocks = chain.slice(from.number + 1);
    if (blocks.length === 0) return [];
    const inputs = blocks.map(({ envelope }) => batchInputFromPayload(this.config, envelope.executionPayload));
    const { nextBatches } = this;
    this.nextBatches = undefined;
    if (nextBatches !== undefined) return [this.channel(nextBatches(inputs).map(singularBatch))];
    this.batched = blocks.at(-1)!.ref;
    return [this.channel(this.batcherNonce % 2 === 0 ? [spanBatch(this.config, inputs)] : inputs.map(singularBatch))];
  }

  private channel(content: readonly Uint8Array[]): FeeMarketTransaction {
    const nonce = this.batcherNonce++;
    const id = new Uint8Array(16);
    id.set(uint64ToBytes(nonce), 8);
    const data = new Uint8Array(deflateSync(Buffer.concat(content)));
    return batcherTransaction(this.config, nonce, encodeBatcherData([{ channelId: id, number: 0, data, isLast: true }]));
  }

  private userTransaction(): Uint8Array {
    const tx: FeeMarketTransaction = {
      type: 0x02,
      chainId: this.config.l2ChainId,
      nonce: BigInt(this.userNonce++),
      maxPriorityFeePerGas: 1n,
      maxFeePerGas: 10n,
      gasLimit: 21_000n,
      to: new Uint8Array(20).fill(9),
      value: 1n,
      data: new Uint8Array(0),
      accessList: [],
    };
    return encodeTransaction(signTransaction(tx, USER_KEY));
  }

  /** Hashes of the chain in a node's engine, up to its safe head. */
  safeChain(node: SimNode): Hex[] {
    const { safe } = node.harness.control.heads;
    return node.engine
      .chain()
      .slice(0, safe.number + 1)
      .map(({ ref }) => ref.hash);
  }
}
