import { CodedError, equalBytes } from "@rnode/primitives";
import type { TrieEntry } from "./iterate.ts";
import { decodeNode, refSizeAt, type TrieNode } from "./node.ts";
import { HASH_REF_PREFIX, nibbleAt, nodeRef } from "./node-codec.ts";
import type { TrieErrorCode } from "./node-reader.ts";
import { SortedTrieBuilder } from "./sorted-trie.ts";

/** A node of a trie. */
export interface NodeAt {
  /** a nibble a byte */
  readonly path: Uint8Array;
  readonly hash: Uint8Array;
}

/** The trie of our entries, of which no nodes are stored. */
export interface OwnTrie {
  /** entries below a path, in ascending order */
  below(path: Uint8Array): Iterable<TrieEntry>;
  /** hash of the node at a path, if it is remembered */
  hashAt(path: Uint8Array): Uint8Array | undefined;
}

/** How our entries below a node differ from the node's trie, as far as the node shows. */
export interface NodeDifference {
  /** keys of ours that the trie does not have */
  readonly removed: readonly Uint8Array[];
  /** entries that we lack, or have with another value */
  readonly changed: readonly TrieEntry[];
  /** nodes below it that differ from ours */
  readonly below: readonly NodeAt[];
  /** nodes below it that our entries make, whose hashes were not remembered and are worth it */
  readonly same: readonly NodeAt[];
}

const KEY_NIBBLES = 64;
/** Larger parts are not compared, as some of their entries probably differ, and the nodes below them are compared anyway. */
const MAX_COMPARED = 512;
/** Hashing fewer entries takes about as long as reading a remembered hash. */
const MIN_REMEMBERED = 8;

/**
 * Compares a node of a trie with 32-byte keys with our entries. The caller has verified the node by its hash.
 *
 * @param path of the node, a nibble a byte
 * @throws {CodedError} trie/bad-proof: it is no node of such a trie
 */
export function differenceAt(rlp: Uint8Array, path: Uint8Array, ours: OwnTrie): NodeDifference {
  const comparison = new Comparison(ours);
  comparison.visit(decode(rlp, 0, true), path);
  return comparison;
}

class Comparison implements NodeDifference {
  readonly removed: Uint8Array[] = [];
  readonly changed: TrieEntry[] = [];
  readonly below: NodeAt[] = [];
  readonly same: NodeAt[] = [];
  readonly #ours: OwnTrie;

  constructor(ours: OwnTrie) {
    this.#ours = ours;
  }

  visit(node: TrieNode, path: Uint8Array): void {
    if (node.kind === "branch") {
      if (node.value !== undefined || path.length >= KEY_NIBBLES) throw badNode("a branch has a value");
      for (let nibble = 0; nibble < 16; nibble++) {
        const at = node.at[nibble]!;
        const to = Uint8Array.of(...path, nibble);
        if (at === 0) this.#remove(to);
        else this.#child(node.rlp.subarray(at, at + refSizeAt(node.rlp, at)), to);
      }
      return;
    }
    const to = new Uint8Array(path.length + node.to - node.from);
    to.set(path);
    for (let i = path.length; i < to.length; i++) to[i] = nibbleAt(node.bytes, node.from + i - path.length);
    if (node.kind === "leaf" ? to.length !== KEY_NIBBLES : to.length >= KEY_NIBBLES) {
      throw badNode("a path of another length than 64 nibbles");
    }
    this.#remove(path, to);
    if (node.kind === "extension")
      this.#child(node.child as Uint8Array, to); // a decoded extension holds the reference to its child
    else this.#leaf(to, node.value);
  }

  #leaf(path: Uint8Array, value: Uint8Array): void {
    for (const { value: before } of this.#ours.below(path)) if (equalBytes(before, value)) return;
    const key = new Uint8Array(KEY_NIBBLES / 2);
    for (let i = 0; i < key.length; i++) key[i] = (path[2 * i]! << 4) | path[2 * i + 1]!;
    this.changed.push({ key, value: value.slice() });
  }

  /** Removes ours below a path. @param but not below this longer one */
  #remove(path: Uint8Array, but?: Uint8Array): void {
    for (const { key } of this.#ours.below(path)) if (but === undefined || !isBelow(key, but)) this.removed.push(key);
  }

  #child(ref: Uint8Array, path: Uint8Array): void {
    if (ref[0] !== HASH_REF_PREFIX) {
      if (!this.#isRef(ref, path, this.#entries(path))) this.visit(decode(ref, 0, false), path);
      return;
    }
    const hash = ref.slice(1);
    const known = this.#ours.hashAt(path);
    if (known !== undefined) {
      if (!equalBytes(known, hash)) this.below.push({ path, hash });
      return;
    }
    const entries = this.#entries(path);
    if (!this.#isRef(ref, path, entries)) this.below.push({ path, hash });
    else if (entries.length >= MIN_REMEMBERED) this.same.push({ path, hash });
  }

  /** Ours below a path; none if they are too many. */
  #entries(path: Uint8Array): readonly TrieEntry[] {
    const entries: TrieEntry[] = [];
    for (const entry of this.#ours.below(path)) {
      if (entries.length === MAX_COMPARED) return [];
      entries.push(entry);
    }
    return entries;
  }

  /** Whether entries make the trie with this reference below a path. */
  #isRef(ref: Uint8Array, path: Uint8Array, entries: readonly TrieEntry[]): boolean {
    if (entries.length === 0) return false;
    const builder = new SortedTrieBuilder(undefined, undefined, path.length);
    for (const { key, value } of entries) builder.add(key, value);
    return equalBytes(nodeRef(builder.finishNode()), ref);
  }
}

function isBelow(key: Uint8Array, path: Uint8Array): boolean {
  for (let i = 0; i < path.length; i++) if (nibbleAt(key, i) !== path[i]) return false;
  return true;
}

/** @throws {CodedError} trie/bad-proof */
function decode(rlp: Uint8Array, at: number, isStored: boolean): TrieNode {
  try {
    return decodeNode(rlp, at, isStored);
  } catch (cause) {
    throw new CodedError<TrieErrorCode>("trie/bad-proof", { reason: "not a node" }, { cause });
  }
}

const badNode = (reason: string): CodedError<TrieErrorCode> => new CodedError<TrieErrorCode>("trie/bad-proof", { reason });
