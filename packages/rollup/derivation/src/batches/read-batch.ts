import type { Hex } from "@rnode/primitives";
import type { BlockId, ExpandedSpanBatch, L1BlockRef } from "@rnode/protocol";
import type { ObservedBatch } from "../observer.ts";
import type { Source } from "../pull.ts";

/** The batch of one block, as derivation checks it. Numbers above 2^53 are inexact, but nothing that high is ever valid. */
export interface BlockBatch {
  /** `undefined` in a span batch, whose blocks have no parent hashes: the block follows the previous one */
  readonly parentHash: Hex | undefined;
  readonly epoch: BlockId;
  /** seconds */
  readonly timestamp: number;
  /** EIP-2718 encoded */
  readonly transactions: readonly Uint8Array[];
}

interface SingularRead {
  readonly kind: "singular";
  readonly channelId: Hex;
  readonly batch: BlockBatch;
}

export interface SpanRead {
  readonly kind: "span";
  readonly channelId: Hex;
  readonly span: ExpandedSpanBatch;
  /** hex of the first 20 bytes of the hash */
  readonly parentCheck: Hex;
  readonly l1OriginCheck: Hex;
}

/** A batch read from a channel. */
export type ReadBatch = SingularRead | SpanRead;

/** Where the batches come from. */
export interface BatchSource extends Source<ReadBatch> {
  /** the parent hash of the next batch in the channel; `undefined` without a next batch or parent hash */
  readonly nextParentHash: Hex | undefined;
  /** Drops the rest of the channel. */
  flush(): void;
}

export function observed(read: ReadBatch, l1InclusionBlock: L1BlockRef): ObservedBatch {
  const common = { channelId: read.channelId, l1InclusionBlock, fromSpan: false };
  if (read.kind === "span") {
    const { firstTimestamp, firstEpochNumber, blockCount, transactionCount } = read.span;
    return { ...common, type: "span", timestamp: firstTimestamp, epochNumber: firstEpochNumber, blockCount, transactionCount };
  }
  return { ...common, ...observedBlock(read.batch), type: "singular" };
}

export function observedBlock(batch: BlockBatch) {
  const { timestamp, epoch, transactions } = batch;
  return { timestamp, epochNumber: epoch.number, blockCount: 1, transactionCount: transactions.length };
}
