import type { Block, Header } from "@rnode/protocol";
import type { BlockRecord } from "@rnode/snapshot";

/** The first block of a chain. */
export interface FirstBlock {
  readonly block: Block;
  readonly hash: Uint8Array;
}

/** Blocks of a chain, from anywhere. What it gives is checked by hashes. */
export interface Blocks {
  /** false: it gives empty lists of receipts */
  readonly hasReceipts: boolean;
  /** `undefined`: it does not have the block. @throws {UserError} naming the source */
  blockOf(hash: Uint8Array): Promise<BlockRecord | undefined>;
  /** Blocks in ascending order, as the source has them under these numbers. @throws {UserError} naming the source, if it lacks one */
  range(first: number, last: number): Promise<readonly BlockRecord[]>;
  /** Headers from the newest to the oldest, as far back as the source can list them soon. @throws {UserError} naming the source */
  headers(): AsyncIterable<HashedHeader>;
  close(): Promise<void>;
}

export interface HashedHeader {
  readonly header: Header;
  readonly hash: Uint8Array;
}
