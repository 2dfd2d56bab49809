import type { Hex } from "@rnode/primitives";
import type { BlockFault } from "./faults.ts";

export interface InvalidBlock {
  readonly fault: BlockFault;
  /** hash of the nearest valid ancestor; null: the header's hash is not what was said */
  readonly latestValidHash: Hex | null;
}

const CAPACITY = 1024;

/** Blocks found invalid, so that neither they nor their children are executed again. Forgets the oldest. */
export class InvalidBlocks {
  readonly #blocks = new Map<Hex, InvalidBlock>();

  get(hashHex: Hex): InvalidBlock | undefined {
    return this.#blocks.get(hashHex);
  }

  add(hashHex: Hex, invalid: InvalidBlock): void {
    if (this.#blocks.size >= CAPACITY) {
      const oldest = this.#blocks.keys().next();
      if (!oldest.done) this.#blocks.delete(oldest.value);
    }
    this.#blocks.set(hashHex, invalid);
  }
}
