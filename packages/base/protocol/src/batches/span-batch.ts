import { CodedError, equalBytes } from "@rnode/primitives";
import { ByteCursor, encodeBitlist, encodeUvarint, joinBytes } from "../params/byte-cursor.ts";
import {
  addSpanTransaction,
  decodeSpanTransactions,
  emptySpanTransactions,
  encodeSpanTransactions,
  isLegacySpanTransaction,
  MAX_SPAN_BATCH_ELEMENTS,
  rebuildSpanTransactions,
  type SpanBatchErrorCode,
  type SpanTransactions,
} from "./span-batch-transactions.ts";

/** Several consecutive L2 blocks, in columns as on the wire. Spec: docs/protocol/02-derivation.md#batch-encodings */
export interface SpanBatch {
  readonly kind: "span";
  /** u64: seconds from the L2 genesis to the first block */
  readonly relTimestamp: bigint;
  /** u64: L1 origin of the last block */
  readonly l1OriginNumber: bigint;
  /** first 20 bytes of the first block's parent hash */
  readonly parentCheck: Uint8Array;
  /** first 20 bytes of the last block's L1 origin hash */
  readonly l1OriginCheck: Uint8Array;
  /** for each block, whether its L1 origin differs from its parent's */
  readonly originBits: readonly boolean[];
  /** for each block */
  readonly transactionCounts: readonly number[];
  readonly transactions: SpanTransactions;
}

const MAX_ELEMENTS = BigInt(MAX_SPAN_BATCH_ELEMENTS);
const CHECK_BYTES = 20;

/**
 * Decodes the content of a batch of type 1. Bytes after it are ignored.
 *
 * @throws {CodedError} span-batch/no-blocks, span-batch/too-large, span-batch/bad-transaction-data, cursor/*
 */
export function decodeSpanBatch(bytes: Uint8Array): SpanBatch {
  const cursor = new ByteCursor(bytes);
  const relTimestamp = cursor.uvarint();
  const l1OriginNumber = cursor.uvarint();
  const parentCheck = cursor.take(CHECK_BYTES);
  const l1OriginCheck = cursor.take(CHECK_BYTES);
  const blockCount = elementCount(cursor.uvarint());
  if (blockCount === 0) throw new CodedError<SpanBatchErrorCode>("span-batch/no-blocks");
  const originBits = cursor.bitlist(blockCount);
  const transactionCounts: number[] = [];
  let total = 0n;
  for (let i = 0; i < blockCount; i++) {
    const count = cursor.uvarint();
    total += count;
    elementCount(total);
    transactionCounts.push(Number(count));
  }
  const transactions = decodeSpanTransactions(cursor, Number(total));
  return { kind: "span", relTimestamp, l1OriginNumber, parentCheck, l1OriginCheck, originBits, transactionCounts, transactions };
}

function elementCount(count: bigint): number {
  if (count > MAX_ELEMENTS) throw new CodedError<SpanBatchErrorCode>("span-batch/too-large", { count });
  return Number(count);
}

/** The content of a batch of type 1, without the type byte. */
export function encodeSpanBatch(batch: SpanBatch): Uint8Array {
  return joinBytes([
    encodeUvarint(batch.relTimestamp),
    encodeUvarint(batch.l1OriginNumber),
    batch.parentCheck,
    batch.l1OriginCheck,
    encodeUvarint(batch.originBits.length),
    encodeBitlist(batch.originBits),
    ...batch.transactionCounts.map(encodeUvarint),
    encodeSpanTransactions(batch.transactions),
  ]);
}

/** A block of a span batch; nothing is checked against L1 or L2. */
export interface SpanBlock {
  /** seconds; inexact above 2^53, which no chain reaches */
  readonly timestamp: number;
  readonly epochNumber: number;
  /** EIP-2718 encoded */
  readonly transactions: readonly Uint8Array[];
}

/** A span batch interpreted with a chain's parameters. */
export interface ExpandedSpanBatch {
  readonly blockCount: number;
  readonly transactionCount: number;
  readonly firstTimestamp: number;
  readonly lastTimestamp: number;
  readonly firstEpochNumber: number;
  readonly lastEpochNumber: number;
  /** PERF: yields one block at a time, as a small batch can claim ten million of them. */
  blocks(): Generator<SpanBlock, void>;
}

/**
 * The blocks of a span batch with their transactions rebuilt. Sums wrap at 64 bits, as in the reference implementation; a batch
 * whose sums wrap never fits the chain.
 *
 * @throws {CodedError} span-batch/bad-transaction: this batch is dropped
 */
export function expandSpanBatch(
  batch: SpanBatch,
  chain: { genesisTimeSec: number; blockTimeSec: number; chainId: bigint },
): ExpandedSpanBatch {
  const transactions = rebuildSpanTransactions(batch.transactions, chain.chainId);
  const blockCount = batch.originBits.length;
  const firstTimestamp = uint64(BigInt(chain.genesisTimeSec) + batch.relTimestamp);
  let advances = 0;
  for (let i = 1; i < blockCount; i++) if (batch.originBits[i]) advances++;
  const firstEpochNumber = uint64(batch.l1OriginNumber - BigInt(advances));
  return {
    blockCount,
    transactionCount: transactions.length,
    firstTimestamp,
    lastTimestamp: firstTimestamp + (blockCount - 1) * chain.blockTimeSec,
    firstEpochNumber,
    lastEpochNumber: uint64(batch.l1OriginNumber),
    *blocks() {
      let epochNumber = firstEpochNumber;
      let at = 0;
      for (let i = 0; i < blockCount; i++) {
        if (i > 0 && batch.originBits[i]) epochNumber++;
        const end = at + batch.transactionCounts[i]!;
        yield { timestamp: firstTimestamp + i * chain.blockTimeSec, epochNumber, transactions: transactions.slice(at, end) };
        at = end;
      }
    },
  };
}

const uint64 = (value: bigint): number => Number(BigInt.asUintN(64, value));

/** The batcher's data of a block of a span batch. */
export interface SpanBatchInput {
  readonly timestampSec: number;
  /** 32 bytes */
  readonly parentHash: Uint8Array;
  readonly epochNumber: number;
  /** 32 bytes */
  readonly epochHash: Uint8Array;
  readonly sequenceNumber: number;
  /** EIP-2718 encoded, without the deposits */
  readonly transactions: readonly Uint8Array[];
}

/** Totals over the rows and blocks of a span batch, which determine the length of its encoding. */
interface SpanBatchTotals {
  readonly transactions: number;
  readonly legacyTransactions: number;
  /** bytes of the columns that are not bitlists, over all transactions */
  readonly transactionBytes: number;
  /** bytes of block_tx_counts */
  readonly countBytes: number;
}

const NO_TOTALS: SpanBatchTotals = { transactions: 0, legacyTransactions: 0, transactionBytes: 0, countBytes: 0 };
const SIGNATURE_BYTES = 64;
const ADDRESS_BYTES = 20;
const bitlistBytes = (length: number): number => Math.ceil(length / 8);

/** Collects consecutive blocks into a span batch. */
export class SpanBatchBuilder {
  readonly #genesisTimeSec: number;
  readonly #blockTimeSec: number;
  readonly #chainId: bigint;
  readonly #originBits: boolean[] = [];
  readonly #transactionCounts: number[] = [];
  readonly #transactions = emptySpanTransactions();
  #first: SpanBatchInput | undefined;
  #last: SpanBatchInput | undefined;
  #totals = NO_TOTALS;
  /** the state that `removeLast` returns to */
  #before: { readonly last: SpanBatchInput | undefined; readonly totals: SpanBatchTotals } | undefined;

  constructor(chain: { genesisTimeSec: number; blockTimeSec: number; chainId: bigint }) {
    this.#genesisTimeSec = chain.genesisTimeSec;
    this.#blockTimeSec = chain.blockTimeSec;
    this.#chainId = chain.chainId;
  }

  get blockCount(): number {
    return this.#originBits.length;
  }

  /**
   * Length of `encodeSpanBatch(build())`. PERF: known without building, because the batcher reads it after each of thousands of
   * blocks.
   */
  get encodedBytes(): number {
    const first = this.#first;
    const last = this.#last;
    if (first === undefined || last === undefined) return 0;
    const { transactions, legacyTransactions, transactionBytes, countBytes } = this.#totals;
    const blocks = this.blockCount;
    return (
      encodeUvarint(first.timestampSec - this.#genesisTimeSec).length +
      encodeUvarint(last.epochNumber).length +
      2 * CHECK_BYTES +
      encodeUvarint(blocks).length +
      bitlistBytes(blocks) +
      countBytes +
      2 * bitlistBytes(transactions) +
      transactionBytes +
      bitlistBytes(legacyTransactions)
    );
  }

  /**
   * Appends the next block. If it throws, the batch is unchanged.
   *
   * @throws {CodedError} span-batch/block-mismatch (not one block time after the last block, or its origin is neither the last
   * block's nor the next), span-batch/unsupported-transaction (deposits, blob transactions, transactions of other chains, malformed
   * ones)
   */
  add(block: SpanBatchInput): void {
    this.#assertFollows(block);
    const before = this.#transactions.length;
    try {
      for (const transaction of block.transactions) addSpanTransaction(this.#transactions, transaction, this.#chainId);
    } catch (error) {
      this.#transactions.length = before;
      throw error;
    }
    this.#before = { last: this.#last, totals: this.#totals };
    this.#totals = this.#totalsWith(this.#transactions.slice(before));
    this.#originBits.push(block.sequenceNumber === 0);
    this.#transactionCounts.push(block.transactions.length);
    this.#first ??= block;
    this.#last = block;
  }

  #assertFollows(block: SpanBatchInput): void {
    const last = this.#last;
    if (last === undefined) return;
    const sameOrigin = block.epochNumber === last.epochNumber && equalBytes(block.epochHash, last.epochHash);
    const fits =
      block.timestampSec === last.timestampSec + this.#blockTimeSec &&
      (block.sequenceNumber === 0 ? block.epochNumber === last.epochNumber + 1 : sameOrigin);
    if (fits) return;
    const { timestampSec, epochNumber } = block;
    throw new CodedError<SpanBatchErrorCode>("span-batch/block-mismatch", { timestampSec, epochNumber });
  }

  #totalsWith(added: SpanTransactions): SpanBatchTotals {
    let { transactions, legacyTransactions, transactionBytes, countBytes } = this.#totals;
    for (const { to, data, nonce, gasLimit } of added) {
      transactions++;
      if (isLegacySpanTransaction(data)) legacyTransactions++;
      transactionBytes += SIGNATURE_BYTES + (to === undefined ? 0 : ADDRESS_BYTES) + data.length;
      transactionBytes += encodeUvarint(nonce).length + encodeUvarint(gasLimit).length;
    }
    countBytes += encodeUvarint(added.length).length;
    return { transactions, legacyTransactions, transactionBytes, countBytes };
  }

  /** Removes the last added block; at most once after each `add`. @throws {CodedError} span-batch/no-blocks */
  removeLast(): void {
    if (this.#before === undefined) throw new CodedError<SpanBatchErrorCode>("span-batch/no-blocks");
    this.#last = this.#before.last;
    this.#totals = this.#before.totals;
    this.#before = undefined;
    if (this.#last === undefined) this.#first = undefined;
    this.#originBits.pop();
    this.#transactionCounts.pop();
    this.#transactions.length = this.#totals.transactions;
  }

  /** @throws {CodedError} span-batch/no-blocks */
  build(): SpanBatch {
    const first = this.#first;
    const last = this.#last;
    if (first === undefined || last === undefined) throw new CodedError<SpanBatchErrorCode>("span-batch/no-blocks");
    return {
      kind: "span",
      relTimestamp: BigInt(first.timestampSec - this.#genesisTimeSec),
      l1OriginNumber: BigInt(last.epochNumber),
      parentCheck: first.parentHash.subarray(0, CHECK_BYTES),
      l1OriginCheck: last.epochHash.subarray(0, CHECK_BYTES),
      originBits: [...this.#originBits],
      transactionCounts: [...this.#transactionCounts],
      transactions: [...this.#transactions],
    };
  }
}
