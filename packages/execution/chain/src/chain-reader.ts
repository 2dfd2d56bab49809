import { bytesToHex, hexToBytes } from "@rnode/primitives";
import type { Block, BlockId, ChainConfig, Header } from "@rnode/protocol";
import type { BlockParts, ChainStoreReader, StateView } from "@rnode/storage";
import type { TrieNodeReader } from "@rnode/trie";
import type { BlockSelector, Chain, HeadChange, StoredBlock } from "./api.ts";
import { ChainError } from "./faults.ts";
import { hashOfSelector, isCanonicalBlock, readStoredBlock } from "./fork-choice/canonical-blocks.ts";
import { storedGenesisHash } from "./genesis/genesis.ts";
import { type HeadNotice, LazyHeadChange } from "./head-change.ts";

/** The canonical chain as another process writes it. It does not contain blocks that fork choice has not chosen. */
export interface ChainReader
  extends Pick<
    Chain,
    "config" | "genesis" | "head" | "resolve" | "partsOf" | "bodyOf" | "headerOf" | "stateAt" | "trieNodesAt" | "onHeadChange"
  > {
  /** Tells the listeners of `onHeadChange`. Must be called for every notice, in order. */
  follow(notice: HeadNotice): void;
}

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
  /** blocks that left before listeners were told of them; listeners are not told that they left, either */
  readonly #missed = new Set<string>();

  constructor(store: ChainStoreReader, config: ChainConfig) {
    const hash = storedGenesisHash(store);
    const block = hash && store.readBlock(hash);
    if (hash === undefined || block === undefined) throw new ChainError("chain/no-genesis");
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

  partsOf(selector: BlockSelector): BlockParts | undefined {
    const hash = this.#hashOf(selector);
    return hash && this.#store.readParts(hash);
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
