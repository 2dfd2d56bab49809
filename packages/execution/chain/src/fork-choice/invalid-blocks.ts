import { type Hex, LruCache } from "@rnode/primitives";
import type { BadBlock, BlockFault } from "../api.ts";

export interface InvalidBlock {
  readonly fault: BlockFault;
  /** hash of the nearest valid ancestor; null: the header does not have the claimed hash */
  readonly latestValidHash: Hex | null;
}

const CAPACITY = 1024;
/** the number of bad blocks that are kept with their content */
const BAD_BLOCKS = 10;

/** Blocks found invalid, remembered so that neither they nor their children are executed again. The least recently used are forgotten. */
export class InvalidBlocks {
  readonly #blocks = new LruCache<Hex, InvalidBlock>(CAPACITY);

  /** newest first */
  readonly #bad: BadBlock[] = [];

  /** The most recent ones with their content, newest first. */
  recent(): readonly BadBlock[] {
    return this.#bad;
  }

  addBlock(bad: BadBlock): void {
    this.#bad.unshift(bad);
    if (this.#bad.length > BAD_BLOCKS) this.#bad.pop();
  }

  get(hashHex: Hex): InvalidBlock | undefined {
    return this.#blocks.get(hashHex);
  }

  add(hashHex: Hex, invalid: InvalidBlock): void {
    this.#blocks.set(hashHex, invalid);
  }
}
