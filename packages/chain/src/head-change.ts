import { bytesToHex } from "@rnode/primitives";
import type { BlockId } from "@rnode/protocol";
import type { HeadChange, StoredBlock } from "./api.ts";

/** A change of the head as the writing process tells it: what joined is in the database, what left no longer is. */
export interface HeadNotice {
  readonly head: BlockId;
  /** newest first */
  readonly removed: readonly StoredBlock[];
  /** oldest first */
  readonly added: readonly Uint8Array[];
}

export const headNoticeOf = ({ head, removed, added }: HeadChange): HeadNotice => ({
  head: { hash: bytesToHex(head.hash), number: head.block.header.number },
  removed,
  added: added.map(({ hash }) => hash),
});

interface BlockSource {
  head(): StoredBlock;
  block(hash: Uint8Array): StoredBlock | undefined;
  /** The chain has moved on from the block; that it left is told next. */
  miss(hash: Uint8Array): void;
}

/** PERF: while nobody listens for more than the going of blocks, none is decoded: a syncing writer sends hundreds of notices a second. */
export class LazyHeadChange implements HeadChange {
  readonly removed: readonly StoredBlock[];
  readonly #hashes: readonly Uint8Array[];
  readonly #source: BlockSource;
  #added: readonly StoredBlock[] | undefined;

  constructor(removed: readonly StoredBlock[], hashes: readonly Uint8Array[], source: BlockSource) {
    this.removed = removed;
    this.#hashes = hashes;
    this.#source = source;
  }

  get added(): readonly StoredBlock[] {
    this.#added ??= this.#hashes.flatMap((hash) => {
      const stored = this.#source.block(hash);
      if (stored === undefined) this.#source.miss(hash);
      return stored ?? [];
    });
    return this.#added;
  }

  /** The new head; when the chain has moved on already, that of now. */
  get head(): StoredBlock {
    return this.added.at(-1) ?? this.#source.head();
  }
}
