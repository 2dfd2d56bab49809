import type { Hex } from "@rnode/primitives";
import type { Block } from "@rnode/protocol";

const CAPACITY = 1024;

/**
 * Bodies of blocks that left the canonical chain, which the database drops: should fork choice return to them, they are
 * executed again. Forgets the oldest.
 */
export class LeftBlocks {
  readonly #blocks = new Map<Hex, Block>();

  get(hashHex: Hex): Block | undefined {
    return this.#blocks.get(hashHex);
  }

  add(hashHex: Hex, block: Block): void {
    this.#blocks.delete(hashHex);
    if (this.#blocks.size >= CAPACITY) {
      const oldest = this.#blocks.keys().next();
      if (!oldest.done) this.#blocks.delete(oldest.value);
    }
    this.#blocks.set(hashHex, block);
  }
}
