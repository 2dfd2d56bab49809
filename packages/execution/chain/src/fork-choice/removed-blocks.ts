import type { Hex } from "@rnode/primitives";
import type { PreparedBlock } from "../prepared-block.ts";
import { roughBodyBytes } from "./block-tree.ts";

const MAX_BLOCKS = 1024;
const MAX_BYTES = 64 * 1024 * 1024;

/**
 * Bodies of blocks that left the canonical chain, which the database drops. If fork choice returns to them, they are executed again.
 * The oldest are forgotten.
 */
export class RemovedBlocks {
  readonly #blocks = new Map<Hex, PreparedBlock>();
  #bytes = 0;

  /** rough size in bytes */
  get bytes(): number {
    return this.#bytes;
  }

  get(hashHex: Hex): PreparedBlock | undefined {
    return this.#blocks.get(hashHex);
  }

  add(hashHex: Hex, block: PreparedBlock): void {
    this.#forget(hashHex);
    this.#blocks.set(hashHex, block);
    this.#bytes += roughBodyBytes(block.block);
    for (const oldest of this.#blocks.keys()) {
      if (oldest === hashHex || (this.#blocks.size <= MAX_BLOCKS && this.#bytes <= MAX_BYTES)) break;
      this.#forget(oldest);
    }
  }

  #forget(hashHex: Hex): void {
    const block = this.#blocks.get(hashHex);
    if (block === undefined) return;
    this.#blocks.delete(hashHex);
    this.#bytes -= roughBodyBytes(block.block);
  }
}
