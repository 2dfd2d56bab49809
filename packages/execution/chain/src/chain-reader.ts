import { bytesToHex, hexToBytes } from "@rnode/primitives";
import type { BlockId, ChainConfig } from "@rnode/protocol";
import type { ChainStoreReader, StateView } from "@rnode/storage";
import type { TrieNodeReader } from "@rnode/trie";
import type { Chain, HeadChange } from "./api.ts";
import { ChainView } from "./chain-view.ts";
import { ChainError } from "./faults.ts";
import { isCanonicalBlock, readStoredBlock } from "./fork-choice/canonical-blocks.ts";
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

class StoredChainReader extends ChainView implements ChainReader {
  readonly #store: ChainStoreReader;
  readonly #listeners = new Set<(change: HeadChange) => void>();
  /** blocks that left before listeners were told of them; listeners are not told that they left, either */
  readonly #missed = new Set<string>();

  constructor(store: ChainStoreReader, config: ChainConfig) {
    const hash = storedGenesisHash(store);
    const block = hash && store.readBlock(hash);
    if (hash === undefined || block === undefined) throw new ChainError("chain/no-genesis");
    super(config, { hash, block, receipts: [], senders: [] }, store, {
      header: (hash) => store.readHeader(hash),
      block: (hash) => store.readBlock(hash),
      storedBlock: (hash) => readStoredBlock(store, hash),
      partsOf: (hash) => store.readParts(hash),
    });
    this.#store = store;
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
}
