import { CodedError, EMPTY_TRIE_ROOT, equalBytes, keccak256 } from "@rnode/primitives";
import { decodeNode, type TrieNode } from "./node.ts";
import { commonNibbles, nibbleAt } from "./node-codec.ts";
import type { TrieErrorCode, TrieNodeReader } from "./node-reader.ts";
import { missingNode } from "./trie-errors.ts";

/**
 * Follows `key` down from `root`.
 *
 * @param onNode is called with the RLP of every node that is referenced by hash, the root first
 * @returns the value; `undefined` if the trie does not have the key
 */
function walk(
  reader: TrieNodeReader,
  owner: Uint8Array | undefined,
  root: Uint8Array,
  key: Uint8Array,
  onNode: (rlp: Uint8Array) => void,
): Uint8Array | undefined {
  if (equalBytes(root, EMPTY_TRIE_ROOT)) return undefined;
  const keyLength = key.length * 2;
  const path = new Uint8Array(keyLength);
  for (let i = 0; i < keyLength; i++) path[i] = nibbleAt(key, i);
  let depth = 0;

  const read = (hash: Uint8Array): TrieNode => {
    const rlp = reader.readNode(owner, path.subarray(0, depth), hash, key);
    if (rlp === undefined) throw missingNode(owner, path.subarray(0, depth), hash);
    onNode(rlp);
    return decodeNode(rlp, 0, true);
  };
  const follow = (rlp: Uint8Array, at: number): TrieNode =>
    rlp[at] === 0xa0 ? read(rlp.subarray(at + 1, at + 33)) : decodeNode(rlp, at, false);

  let node = read(root);
  for (;;) {
    switch (node.kind) {
      case "leaf": {
        const length = node.to - node.from;
        const shared = commonNibbles(key, depth, keyLength, node.bytes, node.from, node.to);
        return shared === length && depth + length === keyLength ? node.value : undefined;
      }
      case "extension": {
        const length = node.to - node.from;
        if (commonNibbles(key, depth, keyLength, node.bytes, node.from, node.to) < length) return undefined;
        depth += length;
        // A decoded extension holds the reference to its child.
        node = follow(node.child as Uint8Array, 0);
        break;
      }
      case "branch": {
        if (depth === keyLength) return node.value;
        const child = node.at[nibbleAt(key, depth)]!;
        if (child === 0) return undefined;
        depth++;
        node = follow(node.rlp, child);
        break;
      }
    }
  }
}

/** The value of `key`; `undefined` if the trie does not have it. @throws {CodedError} trie/missing-node, trie/bad-node */
export function readTrie(
  reader: TrieNodeReader,
  owner: Uint8Array | undefined,
  root: Uint8Array,
  key: Uint8Array,
): Uint8Array | undefined {
  return walk(reader, owner, root, key, () => {});
}

/**
 * A proof of a key's value or of its absence, in the form of `eth_getProof`: the nodes from the root down, except those inside
 * their parents. The proof of an empty trie is empty.
 *
 * @throws {CodedError} trie/missing-node, trie/bad-node
 */
export function createProof(
  reader: TrieNodeReader,
  owner: Uint8Array | undefined,
  root: Uint8Array,
  key: Uint8Array,
): Uint8Array[] {
  const proof: Uint8Array[] = [];
  walk(reader, owner, root, key, (rlp) => proof.push(rlp));
  return proof;
}

/**
 * Checks a proof in the form of `createProof`.
 *
 * @returns the proven value; `undefined` if absence is proven
 * @throws {CodedError} trie/bad-proof: a node is missing, has another hash, is not a valid node, or is not on the key's path
 */
export function verifyProof(root: Uint8Array, key: Uint8Array, proof: readonly Uint8Array[]): Uint8Array | undefined {
  let used = 0;
  const reader: TrieNodeReader = {
    readNode(_owner, _path, hash) {
      const rlp = proof[used];
      if (rlp === undefined || !equalBytes(keccak256(rlp), hash)) return undefined;
      used++;
      return rlp;
    },
  };
  let value: Uint8Array | undefined;
  try {
    value = readTrie(reader, undefined, root, key);
  } catch (cause) {
    throw new CodedError<TrieErrorCode>("trie/bad-proof", { node: used }, { cause });
  }
  if (used !== proof.length) throw new CodedError<TrieErrorCode>("trie/bad-proof", { node: used });
  return value;
}
