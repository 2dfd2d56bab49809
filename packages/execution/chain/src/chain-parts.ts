import type { StateChanges } from "@rnode/evm";
import type { Clock, Hex } from "@rnode/primitives";
import type { Flashblock } from "@rnode/protocol";
import type { StoredBlock } from "./api.ts";
import type { Delay } from "./history/history-pruning.ts";

/**
 * An OP Stack block under construction, after one of its parts. Its state roots and transactions root are zero, so its hash is not that of any
 * block; it changes with the parts.
 */
export interface PendingBlock extends StoredBlock {
  readonly payloadId: Hex;
  /** number of its latest part, from 0 */
  readonly index: number;
  /** number of transactions in earlier parts */
  readonly earlier: number;
  /** of all its transactions */
  readonly changes: StateChanges;
}

/** Why no more parts of a block follow. */
export type PartsEnd =
  /** the payload was requested: the block has exactly these parts */
  | "sealed"
  /** another build began */
  | "replaced"
  /** the head changed */
  | "head-changed"
  /** blocks were derived or imported */
  | "derived"
  /** the payload was not requested within a block time after the block was due: its sequencer has stopped, or was paused */
  | "overdue";

/** Receives the parts of the blocks that are built here. */
export interface PartSink {
  /** A build begins. Parts of others with its number no longer count, although it may have nothing to add to them yet. */
  onBegin(number: number): void;
  /** A part, which is never taken back. */
  onPart(part: PendingBlock): void;
  /** @param last the last part. @param lost promised transactions that the block could not have */
  onEnd(last: PendingBlock, end: PartsEnd, lost: number): void;
  /** A part could not be made, and no more follow. */
  onError(error: unknown): void;
}

export interface PartsOptions {
  readonly intervalMs: number;
  readonly sink: PartSink;
  readonly delay: Delay;
  readonly clock: Pick<Clock, "unixMs">;
  /** the latest known parts of a block on this parent, whoever published them; a build begins with their transactions */
  readonly promised: (parentHash: Uint8Array) => PendingBlock | undefined;
}

export type PartFault = "out-of-order" | "header" | "transaction" | "gas" | "receipts" | "footprint" | "too-long" | "unsupported";

export type PartVerdict =
  | { readonly kind: "executed"; readonly pending: PendingBlock }
  /** its parent is not the head */
  | { readonly kind: "other-parent" }
  /** It does not follow from the parts before it, or execution gives something else. */
  | { readonly kind: "refused"; readonly fault: PartFault; readonly reason: string };

/** The blocks of a chain before they are sealed. */
export interface ChainParts {
  /**
   * Fills builds that take transactions of the pool in parts, and publishes each part. A build that is sealed is exactly its parts. Builds
   * whose attributes exclude the pool are not published. Only for OP Stack chains.
   */
  publishParts(options: PartsOptions): void;
  /**
   * Executes a part of a block of another producer, on the head and after the parts before it. When that block arrives, its execution
   * continues from there. After a verdict other than `executed`, only another first part can follow.
   */
  executePart(part: Flashblock): PartVerdict;
}
