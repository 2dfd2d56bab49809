import { encodeRlp, rlpUint } from "@rnode/primitives";
import { SortedTrieBuilder } from "./sorted-trie.ts";

/** Large enough for the leaf of a receipt with some logs. */
const LEAF_BYTES = 4096;
/** PERF: one buffer for all roots, because a root is computed synchronously and keeps no reference to it. */
const leaf = new Uint8Array(LEAF_BYTES);

/**
 * Root of the trie that maps the RLP of an index to the item: transactions, receipts and withdrawals of a block.
 *
 * @param encodedItems in the encoding of the root (EIP-2718 bytes, not wrapped in a string)
 */
export function orderedTrieRoot(encodedItems: readonly Uint8Array[]): Uint8Array {
  const trie = new SortedTrieBuilder(undefined, leaf);
  const add = (index: number): void => trie.add(encodeRlp(rlpUint(index)), encodedItems[index]!);
  // Key order: 0x01…0x7f, then 0x80 (index 0), then 0x8180… with two or more bytes.
  for (let index = 1; index < encodedItems.length && index < 0x80; index++) add(index);
  if (encodedItems.length > 0) add(0);
  for (let index = 0x80; index < encodedItems.length; index++) add(index);
  return trie.finish();
}
