import { CodedError, EMPTY_TRIE_ROOT, equalBytes } from "@rnode/primitives";
import { decodeNode, type TrieNode } from "./node.ts";
import { nibbleAt } from "./node-codec.ts";
import type { TrieErrorCode, TrieNodeReader } from "./node-reader.ts";

export interface TrieEntry {
  readonly key: Uint8Array;
  readonly value: Uint8Array;
}

/**
 * The entries of a trie in ascending order of their 32-byte keys, from the first that is not below `start`. Nodes are read on
 * demand.
 *
 * @throws {CodedError} trie/missing-node, trie/bad-node
 */
export function* iterateTrie(
  reader: TrieNodeReader,
  owner: Uint8Array | undefined,
  root: Uint8Array,
  start: Uint8Array,
): Generator<TrieEntry> {
  if (equalBytes(root, EMPTY_TRIE_ROOT)) return;
  const from = Array.from({ length: start.length * 2 }, (_, i) => nibbleAt(start, i));

  const read = (path: readonly number[], hash: Uint8Array): TrieNode => {
    const rlp = reader.readNode(owner, Uint8Array.from(path), hash);
    if (rlp === undefined) throw new CodedError<TrieErrorCode>("trie/missing-node", { depth: path.length });
    return decodeNode(rlp, 0, true);
  };
  const follow = (path: readonly number[], rlp: Uint8Array, at: number): TrieNode =>
    rlp[at] === 0xa0 ? read(path, rlp.subarray(at + 1, at + 33)) : decodeNode(rlp, at, false);
  const nibblesOf = ({ bytes, from: first, to }: { bytes: Uint8Array; from: number; to: number }): number[] =>
    Array.from({ length: to - first }, (_, i) => nibbleAt(bytes, first + i));
  /** whether everything below the path comes before the start */
  const isBefore = (path: readonly number[]): boolean => {
    const index = path.findIndex((nibble, i) => nibble !== (from[i] ?? 0));
    return index >= 0 && path[index]! < (from[index] ?? 0);
  };

  function* below(node: TrieNode, path: readonly number[]): Generator<TrieEntry> {
    switch (node.kind) {
      case "leaf": {
        const full = [...path, ...nibblesOf(node)];
        if (!isBefore(full)) yield { key: bytesOf(full), value: node.value };
        return;
      }
      case "extension": {
        const full = [...path, ...nibblesOf(node)];
        // A decoded extension holds the reference to its child.
        if (!isBefore(full)) yield* below(follow(full, node.child as Uint8Array, 0), full);
        return;
      }
      case "branch":
        for (const [nibble, child] of node.at.entries()) {
          const full = [...path, nibble];
          if (child !== 0 && !isBefore(full)) yield* below(follow(full, node.rlp, child), full);
        }
    }
  }
  yield* below(read([], root), []);
}

const bytesOf = (nibbles: readonly number[]): Uint8Array =>
  Uint8Array.from({ length: nibbles.length / 2 }, (_, i) => (nibbles[2 * i]! << 4) | nibbles[2 * i + 1]!);
