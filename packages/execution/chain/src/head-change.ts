import { bytesToHex } from "@rnode/primitives";
import type { Block, BlockId } from "@rnode/protocol";
import type { BlockSums, HeadChange, StoredBlock } from "./api.ts";

/** A change of the head as reported by the writing process: blocks that joined are in the database, blocks that left no longer are. */
export interface HeadNotice {
  readonly head: BlockId;
  /** newest first */
  readonly removed: readonly StoredBlock[];
  /** oldest first */
  readonly added: readonly Uint8Array[];
}

export const headNoticeOf = ({ head, removed, addedHashes }: HeadChange): HeadNotice => ({
  head: { hash: bytesToHex(head.hash), number: head.block.header.number },
  removed,
  added: addedHashes,
});

export const sumsOf = (blocks: readonly Block[]): BlockSums => ({
  gasUsed: blocks.reduce((sum, { header }) => sum + Number(header.gasUsed), 0),
  transactions: blocks.reduce((sum, { transactions }) => sum + transactions.length, 0),
});

interface BlockSource {
  head(): StoredBlock;
  block(hash: Uint8Array): StoredBlock | undefined;
  /** The chain has already left the block; the next notice says so. */
  miss(hash: Uint8Array): void;
}

/** PERF: a syncing writer sends hundreds of notices per second, so added blocks are decoded only if a listener looks at them. */
export class LazyHeadChange implements HeadChange {
  readonly removed: readonly StoredBlock[];
  readonly addedHashes: readonly Uint8Array[];
  readonly #source: BlockSource;
  readonly #sums: BlockSums | undefined;
  #added: readonly StoredBlock[] | undefined;

  /** @param sums of the added blocks, where they are known */
  constructor(removed: readonly StoredBlock[], hashes: readonly Uint8Array[], source: BlockSource, sums?: BlockSums) {
    this.removed = removed;
    this.#sums = sums;
    this.addedHashes = hashes;
    this.#source = source;
  }

  get added(): readonly StoredBlock[] {
    this.#added ??= this.addedHashes.flatMap((hash) => {
      const stored = this.#source.block(hash);
      if (stored === undefined) this.#source.miss(hash);
      return stored ?? [];
    });
    return this.#added;
  }

  get addedSums(): BlockSums {
    return this.#sums ?? sumsOf(this.added.map(({ block }) => block));
  }

  /** The new head or, if the chain has moved on already, the current one. */
  get head(): StoredBlock {
    const last = this.addedHashes.at(-1);
    return (last && this.#source.block(last)) ?? this.#source.head();
  }
}
