import { bytesToHex } from "@rnode/primitives";
import type { BlockId } from "@rnode/protocol";
import type { HeadChange, StoredBlock } from "./api.ts";

/** A change of the head as reported by the writing process: blocks that joined are in the database, blocks that left no longer are. */
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
  /** The chain has already left the block; the next notice says so. */
  miss(hash: Uint8Array): void;
}

/** PERF: a syncing writer sends hundreds of notices per second, so added blocks are decoded only if a listener looks at them. */
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

  /** The new head or, if the chain has moved on already, the current one. */
  get head(): StoredBlock {
    return this.added.at(-1) ?? this.#source.head();
  }
}
