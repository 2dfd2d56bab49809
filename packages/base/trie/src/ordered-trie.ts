import { encodeRlp, rlpUint } from "@rnode/primitives";
import { SortedTrieBuilder } from "./sorted-trie.ts";

/** Large enough for the leaf of a receipt with some logs. */
const LEAF_BYTES = 4096;
/** PERF: one buffer for all roots, because a root is computed synchronously and keeps no reference to it. */
const leaf = new Uint8Array(LEAF_BYTES);

/** The key of index 0, 0x80, comes after those of the indices below this one. */
const INDEX_AFTER_ZERO = 0x80;

/**
 * Root of the trie that maps the RLP of an index to the item: transactions, receipts and withdrawals of a block.
 *
 * @param encodedItems in the encoding of the root (EIP-2718 bytes, not wrapped in a string)
 */
export function orderedTrieRoot(encodedItems: readonly Uint8Array[]): Uint8Array {
  const trie = new SortedTrieBuilder(undefined, leaf);
  addFirst(trie, encodedItems);
  for (let index = INDEX_AFTER_ZERO; index < encodedItems.length; index++) add(trie, index, encodedItems[index]!);
  return trie.finish();
}

/** Roots of a list that grows: each takes the work for the new items only. */
export class GrowingOrderedTrie {
  /** until there are enough for `#trie` */
  #first: Uint8Array[] = [];
  #trie: SortedTrieBuilder | undefined;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /**
   * Adds items, as `orderedTrieRoot` takes them, and keeps the last one.
   *
   * @param next counts for this root only, after the others
   * @returns the root of all items so far
   */
  extend(encodedItems: readonly Uint8Array[], next?: Uint8Array): Uint8Array {
    for (const item of encodedItems) {
      if (this.#trie === undefined) {
        this.#first.push(item);
        if (this.#first.length === INDEX_AFTER_ZERO) this.#begin();
      } else add(this.#trie, this.#size, item);
      this.#size++;
    }
    const progress = this.#trie?.progress();
    if (progress === undefined) return orderedTrieRoot(next === undefined ? this.#first : [...this.#first, next]);
    const trie = SortedTrieBuilder.after(progress);
    if (next !== undefined) add(trie, this.#size, next);
    return trie.finish();
  }

  #begin(): void {
    this.#trie = new SortedTrieBuilder(undefined, leaf);
    addFirst(this.#trie, this.#first);
    this.#first = [];
  }
}

function add(trie: SortedTrieBuilder, index: number, item: Uint8Array): void {
  trie.add(encodeRlp(rlpUint(index)), item);
}

function addFirst(trie: SortedTrieBuilder, items: readonly Uint8Array[]): void {
  for (let index = 1; index < items.length && index < INDEX_AFTER_ZERO; index++) add(trie, index, items[index]!);
  if (items.length > 0) add(trie, 0, items[0]!);
}
