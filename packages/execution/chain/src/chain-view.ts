import type { Block, BlockId, ChainConfig, Header } from "@rnode/protocol";
import type { BlockParts, ChainStoreReader } from "@rnode/storage";
import type { BlockSelector, StoredBlock } from "./api.ts";
import { hashOfSelector } from "./fork-choice/canonical-blocks.ts";

/** Finds blocks by their hash. */
export interface BlockSource {
  header(hash: Uint8Array): Header | undefined;
  block(hash: Uint8Array): Block | undefined;
  storedBlock(hash: Uint8Array): StoredBlock | undefined;
  partsOf(hash: Uint8Array): BlockParts | undefined;
}

/** The methods of `Chain` that read blocks. */
export class ChainView {
  readonly config: ChainConfig;
  readonly genesis: StoredBlock;
  readonly #store: ChainStoreReader;
  readonly #blocks: BlockSource;

  constructor(config: ChainConfig, genesis: StoredBlock, store: ChainStoreReader, blocks: BlockSource) {
    this.config = config;
    this.genesis = genesis;
    this.#store = store;
    this.#blocks = blocks;
  }

  head(): BlockId {
    return this.#store.head()!;
  }

  resolve(selector: BlockSelector): StoredBlock | undefined {
    const hash = this.#hashOf(selector);
    return hash === undefined ? undefined : this.#blocks.storedBlock(hash);
  }

  partsOf(selector: BlockSelector): BlockParts | undefined {
    const hash = this.#hashOf(selector);
    return hash === undefined ? undefined : this.#blocks.partsOf(hash);
  }

  bodyOf(selector: BlockSelector): { block: Block; hash: Uint8Array } | undefined {
    const hash = this.#hashOf(selector);
    const block = hash && this.#blocks.block(hash);
    return hash === undefined || block === undefined ? undefined : { block, hash };
  }

  headerOf(selector: BlockSelector): { header: Header; hash: Uint8Array } | undefined {
    const hash = this.#hashOf(selector);
    const header = hash && this.#blocks.header(hash);
    return hash === undefined || header === undefined ? undefined : { header, hash };
  }

  #hashOf(selector: BlockSelector): Uint8Array | undefined {
    return hashOfSelector(this.#store, this.genesis.hash, selector, (hash) => this.#blocks.header(hash)?.number);
  }
}
