import { addKeccak256, CodedError, EMPTY_TRIE_ROOT, flushKeccak256, keccak256 } from "@rnode/primitives";
import {
  commonNibbles,
  encodeBranch,
  encodeExtension,
  encodeLeaf,
  HASH_REF_PREFIX,
  HASH_REF_SIZE,
  nibbleAt,
} from "./node-codec.ts";
import type { TrieErrorCode } from "./node-reader.ts";

/** Large enough for the leaf of an account. */
const LEAF_BYTES = 192;

/** A branch on the path of the last key; nodes left of that path are encoded. */
interface OpenBranch {
  /** nibbles from the root */
  readonly depth: number;
  readonly children: (Uint8Array | undefined)[];
}

/**
 * State of a `SortedTrieBuilder` between two calls of `add`, as plain data: at most some kilobytes for each nibble of the last
 * key's path.
 */
export interface SortedTrieProgress {
  /** the last added key */
  readonly key: Uint8Array;
  readonly value: Uint8Array;
  /** the branches on the path of that key, by ascending depth in nibbles, with the encoded ones of their sixteen children */
  readonly open: readonly { readonly depth: number; readonly children: readonly (Uint8Array | undefined)[] }[];
}

/** The reference to a node; `flushKeccak256` fills in its hash. PERF: the children of a branch are hashed together. */
function refLater(rlp: Uint8Array): Uint8Array {
  if (rlp.length < 32) return rlp;
  const ref = new Uint8Array(HASH_REF_SIZE);
  ref[0] = HASH_REF_PREFIX;
  addKeccak256(rlp, ref, 1);
  return ref;
}

/**
 * Builds a trie from ascending keys, none a prefix of another, with only the path to the last key in memory. For complete tries:
 * transactions, receipts, a genesis, a recomputed state.
 */
export class SortedTrieBuilder {
  readonly #onNode: ((path: Uint8Array, rlp: Uint8Array) => void) | undefined;
  /** by ascending depth */
  readonly #open: OpenBranch[] = [];
  #key: Uint8Array | undefined;
  #value: Uint8Array | undefined;
  readonly #leaf: Uint8Array;
  readonly #base: number;
  #hasLeaves = true;

  /**
   * @param onNode is called with every node that a database stores: nodes of 32 bytes and more, and the root; `path` holds
   * nibbles, one per byte; `rlp` is overwritten afterwards
   * @param leaf buffer that is reused for each leaf; PERF: larger leaves are allocated
   * @param base nibbles that all keys share: only the part of the trie below them is built
   */
  constructor(onNode?: (path: Uint8Array, rlp: Uint8Array) => void, leaf = new Uint8Array(LEAF_BYTES), base = 0) {
    this.#onNode = onNode;
    this.#leaf = leaf;
    this.#base = base;
  }

  /** A builder that continues from another one's `progress`. @param onNode as for the constructor */
  static after({ key, value, open }: SortedTrieProgress, onNode?: (path: Uint8Array, rlp: Uint8Array) => void): SortedTrieBuilder {
    const builder = new SortedTrieBuilder(onNode);
    builder.#key = key;
    builder.#value = value;
    for (const { depth, children } of open) builder.#open.push({ depth, children: [...children] });
    return builder;
  }

  /** A builder for a database that has no leaves, because it has their rows: `onNode` gets the other nodes. @param from as of `after` */
  static withoutLeaves(onNode: (path: Uint8Array, rlp: Uint8Array) => void, from?: SortedTrieProgress): SortedTrieBuilder {
    const builder = from === undefined ? new SortedTrieBuilder(onNode) : SortedTrieBuilder.after(from, onNode);
    builder.#hasLeaves = false;
    return builder;
  }

  /** A copy of the builder's state; `onNode` has been called with all other nodes. `undefined` before the first `add`. */
  progress(): SortedTrieProgress | undefined {
    if (this.#key === undefined) return undefined;
    flushKeccak256(); // references of children without a hash yet
    const open = this.#open.map(({ depth, children }) => ({ depth, children: children.map((child) => child?.slice()) }));
    return { key: this.#key.slice(), value: this.#value!.slice(), open };
  }

  /**
   * Keeps both arrays until the next `add`, without a copy.
   *
   * @throws {CodedError} trie/unsorted-keys
   */
  add(key: Uint8Array, value: Uint8Array): void {
    const last = this.#key;
    if (last !== undefined) {
      const shared = commonNibbles(last, 0, last.length * 2, key, 0, key.length * 2);
      const isOther = shared < last.length * 2 && shared < key.length * 2 && shared >= this.#base;
      if (!isOther || nibbleAt(last, shared) >= nibbleAt(key, shared)) throw new CodedError<TrieErrorCode>("trie/unsorted-keys");
      this.#closeDownTo(shared);
    }
    this.#key = key;
    this.#value = value;
  }

  /** The root of all added entries, 32 bytes. The builder cannot be used afterwards. */
  finish(): Uint8Array {
    if (this.#key === undefined) return EMPTY_TRIE_ROOT;
    const rlp = this.finishNode();
    this.#onNode?.(new Uint8Array(0), rlp);
    return keccak256(rlp);
  }

  /** As `finish`: the RLP of the topmost node, which is overwritten afterwards. Call it only after `add`. */
  finishNode(): Uint8Array {
    return this.#closeDownTo(this.#base - 1);
  }

  /**
   * Encodes all nodes below the depth at which the next key leaves the path of the last one, and attaches them to a branch at
   * that depth.
   *
   * @param depth below the base: there is no next key
   * @returns RLP of the topmost node for a depth below the base
   */
  #closeDownTo(depth: number): Uint8Array {
    const key = this.#key!;
    let parent = this.#parentDepth(depth);
    let rlp = encodeLeaf(key, parent + 1, key.length * 2, this.#value!, this.#leaf);
    for (let isStored = this.#hasLeaves; ; isStored = true) {
      if (parent < this.#base) return rlp;
      this.#hang(parent, rlp);
      if (isStored) this.#emit(parent + 1, rlp);
      if (parent <= depth) return rlp;
      const branch = this.#open.pop()!;
      flushKeccak256(); // the references to its children
      rlp = encodeBranch(branch.children, undefined);
      parent = this.#parentDepth(depth);
      if (branch.depth > parent + 1) {
        const ref = refLater(rlp);
        this.#emit(branch.depth, rlp);
        flushKeccak256();
        rlp = encodeExtension(key, parent + 1, branch.depth, ref);
      }
    }
  }

  /**
   * Depth of the branch that gets the next closed node: the deepest open branch, or a new one where the next key leaves the path.
   */
  #parentDepth(depth: number): number {
    return Math.max(depth, this.#open.at(-1)?.depth ?? this.#base - 1);
  }

  #hang(depth: number, rlp: Uint8Array): void {
    let branch = this.#open.at(-1);
    if (branch === undefined || branch.depth < depth) {
      branch = { depth, children: new Array<Uint8Array | undefined>(16).fill(undefined) };
      this.#open.push(branch);
    }
    branch.children[nibbleAt(this.#key!, depth)] = rlp.length < 32 ? rlp.slice() : refLater(rlp);
  }

  #emit(pathLength: number, rlp: Uint8Array): void {
    if (this.#onNode === undefined || rlp.length < 32) return;
    const path = new Uint8Array(pathLength);
    for (let i = 0; i < pathLength; i++) path[i] = nibbleAt(this.#key!, i);
    this.#onNode(path, rlp);
  }
}
