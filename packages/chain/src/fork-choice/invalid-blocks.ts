import { type Hex, LruCache } from "@rnode/primitives";
import type { BadBlock, BlockFault } from "../api.ts";

export interface InvalidBlock {
  readonly fault: BlockFault;
  /** hash of the nearest valid ancestor; null: the header's hash is not what was said */
  readonly latestValidHash: Hex | null;
}

const CAPACITY = 1024;
/** whole blocks are kept for fewer */
const BAD_BLOCKS = 10;

/** Blocks found invalid, so that neither they nor their children are executed again. Forgets those not asked for longest. */
export class InvalidBlocks {
  readonly #blocks = new LruCache<Hex, InvalidBlock>(CAPACITY);

  /** newest first */
  readonly #bad: BadBlock[] = [];

  /** The last ones with their content, newest first. */
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
