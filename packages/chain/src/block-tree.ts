import type { Hex } from "@rnode/primitives";
import type { ExecutedBlock } from "./executed-block.ts";

export interface BlockTreeLimits {
  readonly maxBlocks: number;
  /** rough size of all changes and trie nodes */
  readonly maxBytes: number;
}

const DEFAULT_LIMITS: BlockTreeLimits = { maxBlocks: 256, maxBytes: 256 * 1024 * 1024 };
/** Share of a map entry, an object and its typed arrays. */
const BYTES_PER_ENTRY = 300;

/**
 * Executed blocks in memory: those that fork choice has not chosen (yet), and the latest canonical ones, so that a chain that
 * was left can be returned to. Beyond the limits the lowest blocks go first; they are executed again if asked for.
 */
export class BlockTree {
  readonly #limits: BlockTreeLimits;
  readonly #blocks = new Map<Hex, { readonly executed: ExecutedBlock; readonly bytes: number }>();
  #bytes = 0;

  constructor(limits: BlockTreeLimits = DEFAULT_LIMITS) {
    this.#limits = limits;
  }

  get(hashHex: Hex): ExecutedBlock | undefined {
    return this.#blocks.get(hashHex)?.executed;
  }

  get size(): number {
    return this.#blocks.size;
  }

  add(executed: ExecutedBlock): void {
    if (this.#blocks.has(executed.hashHex)) return;
    const bytes = roughBytes(executed);
    this.#blocks.set(executed.hashHex, { executed, bytes });
    this.#bytes += bytes;
    while (this.#blocks.size > 1 && (this.#blocks.size > this.#limits.maxBlocks || this.#bytes > this.#limits.maxBytes)) {
      this.#removeLowest(executed.hashHex);
    }
  }

  #removeLowest(except: Hex): void {
    let lowest: ExecutedBlock | undefined;
    for (const { executed } of this.#blocks.values()) {
      if (executed.hashHex === except) continue;
      if (lowest === undefined || executed.block.header.number < lowest.block.header.number) lowest = executed;
    }
    if (lowest === undefined) return;
    this.#bytes -= this.#blocks.get(lowest.hashHex)!.bytes;
    this.#blocks.delete(lowest.hashHex);
  }
}

function roughBytes({ changes, nodes, receipts, block }: ExecutedBlock): number {
  let bytes = 0;
  for (const { storage } of changes.accounts) bytes += BYTES_PER_ENTRY * (1 + storage.length);
  for (const { code } of changes.codes) bytes += code.length;
  for (const { rlp } of nodes) bytes += BYTES_PER_ENTRY + (rlp?.length ?? 0);
  for (const { logs } of receipts) bytes += BYTES_PER_ENTRY * (1 + logs.length);
  for (const { data } of block.transactions) bytes += BYTES_PER_ENTRY + data.length;
  return bytes;
}
