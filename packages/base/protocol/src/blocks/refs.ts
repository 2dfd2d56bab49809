import type { Hex } from "@rnode/primitives";

/** Refs identify blocks. Their hashes are lower-case hex, because they are compared, used as map keys and printed. */
export interface BlockId {
  readonly hash: Hex;
  readonly number: number;
}

export interface L1BlockRef extends BlockId {
  readonly parentHash: Hex;
  /** seconds */
  readonly timestamp: number;
}

export interface L2BlockRef extends BlockId {
  readonly parentHash: Hex;
  /** seconds */
  readonly timestamp: number;
  readonly l1Origin: BlockId;
  /** distance from the first L2 block of the same L1 origin */
  readonly sequenceNumber: number;
}
