import { bytesToHex, CodedError, hexToBytes } from "@rnode/primitives";
import type { Block, BlockId, ChainConfig, Header } from "@rnode/protocol";
import type { ChainStoreReader, StateView } from "@rnode/storage";
import type { TrieNodeReader } from "@rnode/trie";
import type { BlockSelector, Chain, HeadChange, StoredBlock } from "./api.ts";
import type { ChainErrorCode } from "./faults.ts";
import { hashOfSelector, isCanonicalBlock, readStoredBlock } from "./fork-choice/canonical-blocks.ts";
import { storedGenesisHash } from "./genesis/genesis.ts";

/** A change of the head as the writing process tells it: what joined is in the database, what left no longer is. */
export interface HeadNotice {
  readonly head: BlockId;
  /** newest first */
  readonly removed: readonly StoredBlock[];
  /** oldest first */
  readonly added: readonly Uint8Array[];
}

/** The canonical chain as another process writes it. Blocks that fork choice has not chosen are not in it. */
export interface ChainReader
  extends Pick<
    Chain,
    "config" | "genesis" | "head" | "resolve" | "bodyOf" | "headerOf" | "stateAt" | "trieNodesAt" | "onHeadChange"
  > {
  /** Tells the listeners of `onHeadChange`. Every notice must come, in order. */
  follow(notice: HeadNotice): void;
}

export const headNoticeOf = ({ head, removed, added }: HeadChange): HeadNotice => ({
  head: { hash: bytesToHex(head.hash), number: head.block.header.number },
  removed,
  added: added.map(({ hash }) => hash),
});

/**
 * @param store read-only
 * @throws {CodedError} chain/no-genesis
 */
export function openChainReader(store: ChainStoreReader, config: ChainConfig): ChainReader {
  return new StoredChainReader(store, config);
}

class StoredChainReader implements ChainReader {
  readonly config: ChainConfig;
  readonly genesis: StoredBlock;
  readonly #store: ChainStoreReader;
  readonly #listeners = new Set<(change: HeadChange) => void>();
  /** blocks whose coming was not told, because they were gone already; nor is their going */
  readonly #missed = new Set<string>();

  constructor(store: ChainStoreReader, config: ChainConfig) {
    const hash = storedGenesisHash(store);
    const block = hash && store.readBlock(hash);
    if (hash === undefined || block === undefined) throw new CodedError<ChainErrorCode>("chain/no-genesis");
    this.config = config;
    this.genesis = { hash, block, receipts: [], senders: [] };
    this.#store = store;
  }

  head(): BlockId {
    return this.#store.head()!;
  }

  resolve(selector: BlockSelector): StoredBlock | undefined {
    const hash = this.#hashOf(selector);
    return hash === undefined ? undefined : readStoredBlock(this.#store, hash);
  }

  bodyOf(selector: BlockSelector): { block: Block; hash: Uint8Array } | undefined {
    const hash = this.#hashOf(selector);
    const block = hash && this.#store.readBlock(hash);
    return hash === undefined || block === undefined ? undefined : { block, hash };
  }

  headerOf(selector: BlockSelector): { header: Header; hash: Uint8Array } | undefined {
    const hash = this.#hashOf(selector);
    const header = hash && this.#store.readHeader(hash);
    return hash === undefined || header === undefined ? undefined : { header, hash };
  }

  stateAt({ hash, number }: BlockId): StateView | undefined {
    return isCanonicalBlock(this.#store, hash, number) ? this.#store.stateAt(number) : undefined;
  }

  trieNodesAt({ hash, number }: BlockId): TrieNodeReader | undefined {
    return isCanonicalBlock(this.#store, hash, number) ? this.#store.trieNodesAt(number) : undefined;
  }

  onHeadChange(listener: (change: HeadChange) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  follow({ head, removed, added }: HeadNotice): void {
    const told = removed.filter(({ hash }) => !this.#missed.delete(bytesToHex(hash)));
    if (this.#listeners.size === 0) return;
    const change = new LazyHeadChange(told, added, {
      head: () => readStoredBlock(this.#store, hexToBytes(head.hash)) ?? this.resolve({ kind: "tag", tag: "latest" })!,
      block: (hash) => readStoredBlock(this.#store, hash),
      miss: (hash) => this.#missed.add(bytesToHex(hash)),
    });
    for (const listener of this.#listeners) listener(change);
  }

  #hashOf(selector: BlockSelector): Uint8Array | undefined {
    return hashOfSelector(this.#store, this.genesis.hash, selector, (hash) => this.#store.readHeader(hash)?.number);
  }
}

interface BlockSource {
  head(): StoredBlock;
  block(hash: Uint8Array): StoredBlock | undefined;
  /** The chain has moved on from the block; that it left is told next. */
  miss(hash: Uint8Array): void;
}

/** PERF: while nobody listens for more than the going of blocks, none is decoded: a syncing writer sends hundreds of notices a second. */
class LazyHeadChange implements HeadChange {
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
