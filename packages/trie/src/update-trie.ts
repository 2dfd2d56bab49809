import { bytesToHex, CodedError, compareBytes, EMPTY_TRIE_ROOT, equalBytes, keccak256, writeKeccak256 } from "@rnode/primitives";
import {
  BranchNode,
  decodeNode,
  ExtensionNode,
  joinNibbles,
  LeafNode,
  NO_RLP,
  NodeWrite,
  refSizeAt,
  type TrieNode,
} from "./node.ts";
import {
  branchHeaderSize,
  commonNibbles,
  encodeBranch,
  encodeExtension,
  encodeLeaf,
  HASH_REF_PREFIX,
  HASH_REF_SIZE,
  nibbleAt,
  nodeRef,
} from "./node-codec.ts";
import type { TrieErrorCode, TrieNodeChange, TrieNodeReader } from "./node-reader.ts";

export interface TrieChange {
  /** 32 bytes, keccak256 of the address or slot */
  readonly key: Uint8Array;
  /** RLP bytes of the leaf's value; undefined deletes */
  readonly value: Uint8Array | undefined;
  /**
   * `value` is an account (RLP), whose storage root is to be that of the leaf as it is, and is overwritten with it; a new leaf takes `value`
   * as given
   */
  readonly keepsStorageRoot?: boolean;
}

export interface TrieUpdate {
  readonly root: Uint8Array;
  /** ascending by path, each path once */
  readonly nodes: readonly TrieNodeChange[];
}

const MAX_PATH_NIBBLES = 512;
/** RLP of an account ends with its storage root and its code hash, 33 bytes each. */
const STORAGE_ROOT_FROM_END = 65;

/**
 * Applies changes to the trie with `root` and returns what becomes of its nodes. Reads only nodes on the paths of changed keys, and the
 * remaining child of a branch that collapses. A branch collapses only if one child is left after all changes, so a witness of insertions
 * before deletions is enough.
 *
 * @param owner of the trie, as in `TrieNodeReader`; handed to the reader and copied into `nodes`
 * @param changes in any order; of two with the same key the later one counts
 * @throws {CodedError} trie/missing-node, trie/bad-node
 */
export function updateTrie(
  reader: TrieNodeReader,
  owner: Uint8Array | undefined,
  root: Uint8Array,
  changes: Iterable<TrieChange>,
): TrieUpdate {
  return new LiveTrie(owner, root).update(reader, changes);
}

/**
 * How a trie goes about its bytes. PERF: in place, a node is encoded where its encoding before the last one was, so that a node that is there
 * already costs no memory: 33 % of the time of the thread of state roots, on blocks of 300 swaps.
 */
export interface TrieMemory {
  /**
   * What the reader gives is the trie's from then on; of the changes nothing is kept, not even their bytes; and what an update lists is right
   * only until the next one.
   */
  readonly inPlace?: boolean;
}

/** A trie whose nodes stay in memory, decoded, from one update to the next: only what is not there is read. */
export class LiveTrie {
  readonly #owner: Uint8Array | undefined;
  readonly #inPlace: boolean;
  #root: Uint8Array;
  #node: TrieNode | undefined;
  #pass = 0;
  #nodeCount = 0;

  constructor(owner: Uint8Array | undefined, root: Uint8Array, { inPlace = false }: TrieMemory = {}) {
    this.#owner = owner;
    this.#root = root;
    this.#inPlace = inPlace;
  }

  get root(): Uint8Array {
    return this.#root;
  }

  /** Nodes in memory, those included that were made and are gone since the last `evict`. */
  get nodeCount(): number {
    return this.#nodeCount;
  }

  /**
   * As `updateTrie`. When it throws, the trie is as it was before.
   *
   * @param pass what `evictBefore` goes by; ascends
   */
  update(reader: TrieNodeReader, changes: Iterable<TrieChange>, pass = this.#pass + 1): TrieUpdate {
    const sorted = sortChanges(changes);
    if (sorted.length === 0) return { root: this.#root, nodes: [] };
    this.#pass = pass;
    const updater = new TrieUpdater(reader, this.#owner, sorted, pass, this.#inPlace);
    const before = this.#node;
    this.#node = undefined; // if it throws: what is half changed is read again
    const { node, update } = updater.run(this.#root, before);
    this.#node = node;
    this.#root = update.root;
    this.#nodeCount += updater.madeNodes;
    return update;
  }

  /** Value of a key; undefined: none. What is read stays in memory. @throws {CodedError} trie/missing-node, trie/bad-node */
  get(reader: TrieNodeReader, key: Uint8Array): Uint8Array | undefined {
    const updater = new TrieUpdater(reader, this.#owner, [], this.#pass, this.#inPlace);
    const { root, value } = updater.find(this.#root, this.#node, key);
    this.#node = root;
    this.#nodeCount += updater.madeNodes;
    return value;
  }

  /** Forgets nodes that the last `passes` updates did not go through; they must be in the reader from now on. */
  evict(passes: number): void {
    this.evictBefore(this.#pass - passes + 1);
  }

  /** Forgets nodes that no update since the pass `oldest` went through. */
  evictBefore(oldest: number): void {
    if (this.#node !== undefined && this.#node.usedAt < oldest) this.#node = undefined;
    this.#nodeCount = this.#node === undefined ? 0 : evictBelow(this.#node, oldest);
  }
}

/** @returns the nodes that are left */
function evictBelow(node: TrieNode, oldest: number): number {
  if (node.kind === "leaf") return 1;
  if (node.kind === "extension") {
    if (node.child instanceof Uint8Array) return 1;
    if (node.child.usedAt >= oldest) return 1 + evictBelow(node.child, oldest);
    node.child = node.ref!;
    return 1;
  }
  const { nodes } = node;
  if (nodes === undefined) return 1;
  let count = 1;
  let isEmpty = true;
  for (let i = 0; i < 16; i++) {
    const child = nodes[i];
    if (child === undefined || child instanceof Uint8Array) continue;
    if (child.usedAt >= oldest) {
      count += evictBelow(child, oldest);
      isEmpty = false;
    } else {
      nodes[i] = undefined;
    }
  }
  if (isEmpty) node.nodes = undefined;
  return count;
}

function sortChanges(changes: Iterable<TrieChange>): TrieChange[] {
  const sorted = [...changes].sort((a, b) => compareBytes(a.key, b.key)); // stable
  let kept = 0;
  for (let i = 0; i < sorted.length; i++) {
    const next = sorted[i + 1];
    if (next !== undefined && equalBytes(sorted[i]!.key, next.key)) continue;
    sorted[kept++] = sorted[i]!;
  }
  sorted.length = kept;
  return sorted;
}

/** Gives the account `value` the storage root of the account `present`. PERF: in place. */
function withStorageRootOf(value: Uint8Array, present: Uint8Array): Uint8Array {
  const from = present.length - STORAGE_ROOT_FROM_END;
  const to = value.length - STORAGE_ROOT_FROM_END;
  for (let i = 0; i < 32; i++) value[to + i] = present[from + i]!;
  return value;
}

/** A leaf to be: nibble i of its key, counted from the trie's root, is nibble `base + i` of `bytes`. */
interface Item {
  readonly bytes: Uint8Array;
  readonly base: number;
  /** nibbles of the key */
  readonly length: number;
  readonly value: Uint8Array;
}

class TrieUpdater {
  readonly #reader: TrieNodeReader;
  readonly #owner: Uint8Array | undefined;
  readonly #changes: readonly TrieChange[];
  readonly #pass: number;
  readonly #inPlace: boolean;
  readonly #writes: NodeWrite[] = [];
  #hasEmptyWrites = false;
  readonly #deletions: TrieNodeChange[] = [];
  /** path of the node at hand; nibbles beyond its depth are stale */
  readonly #path = new Uint8Array(MAX_PATH_NIBBLES);
  /** by depth: references to the changed children of the branch that is being encoded there */
  readonly #refs: (Uint8Array | undefined)[][] = [];
  madeNodes = 0;

  constructor(
    reader: TrieNodeReader,
    owner: Uint8Array | undefined,
    changes: readonly TrieChange[],
    pass: number,
    inPlace: boolean,
  ) {
    this.#reader = reader;
    this.#owner = owner;
    this.#changes = changes;
    this.#pass = pass;
    this.#inPlace = inPlace;
  }

  run(root: Uint8Array, rootNode: TrieNode | undefined): { node: TrieNode | undefined; update: TrieUpdate } {
    const before = rootNode ?? (equalBytes(root, EMPTY_TRIE_ROOT) ? undefined : this.#read(root, 0));
    const node = this.#apply(before, 0, this.#changes.length, 0);
    const rootAfter = node === undefined ? EMPTY_TRIE_ROOT : node.changed ? keccak256(this.#encode(node, 0)) : root;
    return { node, update: { root: rootAfter, nodes: this.#listed() } };
  }

  #listed(): TrieNodeChange[] {
    const writes = this.#hasEmptyWrites
      ? this.#writes.filter(({ rlp, before }) => rlp !== undefined || before !== undefined)
      : this.#writes;
    if (this.#deletions.length === 0) return writes;
    return [...this.#deletions, ...writes].sort((a, b) => compareBytes(a.path, b.path));
  }

  /** Nothing changes but what is in memory. */
  find(
    rootHash: Uint8Array,
    rootNode: TrieNode | undefined,
    key: Uint8Array,
  ): { root: TrieNode | undefined; value: Uint8Array | undefined } {
    const root = rootNode ?? (equalBytes(rootHash, EMPTY_TRIE_ROOT) ? undefined : this.#read(rootHash, 0));
    const length = key.length * 2;
    let depth = 0;
    for (let node = root; node !== undefined; ) {
      node.usedAt = this.#pass;
      if (node.kind === "leaf") return { root, value: this.#isKeyOf(node, key, depth) ? node.value : undefined };
      if (node.kind === "extension") {
        const { bytes, from, to } = node;
        if (commonNibbles(key, depth, length, bytes, from, to) < to - from) break;
        for (let i = from; i < to; i++) this.#path[depth++] = nibbleAt(bytes, i);
        if (node.child instanceof Uint8Array) node.child = this.#resolveRef(node.child, 0, depth);
        node = node.child;
        continue;
      }
      if (depth === length) return { root, value: node.value };
      const nibble = nibbleAt(key, depth);
      this.#path[depth++] = nibble;
      const child: TrieNode | undefined = this.#childOf(node, nibble, depth);
      if (child !== undefined) node.keep(nibble, child);
      node = child;
    }
    return { root, value: undefined };
  }

  /** Number of nibbles of the key of a change. */
  #keyLength(index: number): number {
    return this.#changes[index]!.key.length * 2;
  }

  #read(hash: Uint8Array, depth: number): TrieNode {
    const path = this.#path.subarray(0, depth);
    const rlp = this.#reader.readNode(this.#owner, path, hash);
    if (rlp === undefined) {
      throw new CodedError<TrieErrorCode>("trie/missing-node", {
        owner: this.#owner === undefined ? "accounts" : bytesToHex(this.#owner),
        path: bytesToHex(path),
        hash: bytesToHex(hash),
      });
    }
    this.madeNodes++;
    return decodeNode(rlp, 0, true);
  }

  /** The node that a reference at `at` of `rlp` stands for; `depth` is the node's. */
  #resolveRef(rlp: Uint8Array, at: number, depth: number): TrieNode {
    if (rlp[at] === 0xa0) return this.#read(rlp.subarray(at + 1, at + 33), depth);
    // The parent's bytes are written over.
    if (this.#inPlace) return decodeNode(rlp.slice(at, at + refSizeAt(rlp, at)), 0, false);
    return decodeNode(rlp, at, false);
  }

  /** Bytes of a change, to be kept. */
  #kept(bytes: Uint8Array): Uint8Array {
    return this.#inPlace ? bytes.slice() : bytes;
  }

  /** The child of a branch; undefined: none. */
  #childOf(node: BranchNode, nibble: number, depth: number): TrieNode | undefined {
    const kept = node.nodes?.[nibble];
    if (kept === undefined) {
      const at = node.at[nibble]!;
      return at === 0 ? undefined : this.#resolveRef(node.rlp, at, depth);
    }
    return kept instanceof Uint8Array ? this.#resolveRef(kept, 0, depth) : kept;
  }

  /** Lists the row at the path of the node of `depth` as deleted, if there is one. */
  #forget(node: TrieNode, depth: number): void {
    this.#forgetRow(node.row, depth);
    node.row = undefined;
  }

  #forgetRow(row: Uint8Array | undefined, depth: number): void {
    if (row === undefined) return;
    this.#deletions.push({ owner: this.#owner, path: this.#path.slice(0, depth), rlp: undefined, before: row });
  }

  /**
   * Applies the changes from `low` up to `high`, whose keys all begin with the path so far, to the node at that path.
   *
   * @returns the node in its place, with `changed` set where it must be encoded anew; undefined for none
   */
  #apply(node: TrieNode | undefined, low: number, high: number, depth: number): TrieNode | undefined {
    if (node === undefined) return this.#build(this.#insertions(low, high, undefined, depth), depth, undefined);
    node.usedAt = this.#pass;
    switch (node.kind) {
      case "leaf":
        return this.#applyToLeaf(node, low, high, depth);
      case "extension":
        return this.#applyToExtension(node, low, high, depth);
      case "branch":
        return this.#applyToBranch(node, low, high, depth);
    }
  }

  #applyToLeaf(leaf: LeafNode, low: number, high: number, depth: number): TrieNode | undefined {
    if (high - low === 1 && this.#isKeyOf(leaf, this.#changes[low]!.key, depth)) return this.#replace(leaf, low, depth);
    const items = this.#insertions(low, high, leaf, depth);
    if (items.length === 0) {
      this.#forget(leaf, depth);
      return undefined;
    }
    const only = items[0]!;
    if (items.length === 1 && only.length - depth === leaf.to - leaf.from) {
      const shared = commonNibbles(only.bytes, only.base + depth, only.base + only.length, leaf.bytes, leaf.from, leaf.to);
      if (shared === leaf.to - leaf.from) {
        if (only.value !== leaf.value && !equalBytes(only.value, leaf.value)) {
          leaf.value = only.value;
          leaf.changed = true;
        }
        return leaf;
      }
    }
    return this.#build(items, depth, leaf.row);
  }

  #isKeyOf(leaf: LeafNode, key: Uint8Array, depth: number): boolean {
    const { bytes, from, to } = leaf;
    if (key.length * 2 - depth !== to - from) return false;
    for (let i = to - 1, j = key.length * 2 - 1; i >= from; i--, j--) if (nibbleAt(bytes, i) !== nibbleAt(key, j)) return false;
    return true;
  }

  /** PERF: the one change of a leaf that is there, by far the most frequent case. */
  #replace(leaf: LeafNode, index: number, depth: number): LeafNode | undefined {
    const { value, keepsStorageRoot } = this.#changes[index]!;
    if (value === undefined) {
      this.#forget(leaf, depth);
      return undefined;
    }
    const after = keepsStorageRoot ? withStorageRootOf(value, leaf.value) : value;
    if (!equalBytes(after, leaf.value)) {
      leaf.value = after;
      leaf.changed = true;
    }
    return leaf;
  }

  /** Insertions among the changes, and `leaf` unless a change replaces or deletes it, in the order of their keys. */
  #insertions(low: number, high: number, leaf: LeafNode | undefined, depth: number): Item[] {
    const items: Item[] = [];
    let pending: Item | undefined;
    if (leaf !== undefined) {
      const base = leaf.from - depth;
      pending = { bytes: leaf.bytes, base, length: leaf.to - base, value: leaf.value };
    }
    for (let i = low; i < high; i++) {
      const { key, value: given, keepsStorageRoot } = this.#changes[i]!;
      let value = given;
      const length = key.length * 2;
      if (pending !== undefined) {
        const end = pending.base + pending.length;
        const at = depth + commonNibbles(key, depth, length, pending.bytes, pending.base + depth, end);
        if (at === length && at === pending.length) {
          if (value !== undefined && keepsStorageRoot) value = withStorageRootOf(value, pending.value);
          pending = undefined;
        } else if (at === pending.length) {
          items.push(pending); // a prefix of the key comes first
          pending = undefined;
        } else if (at < length && nibbleAt(pending.bytes, pending.base + at) < nibbleAt(key, at)) {
          items.push(pending);
          pending = undefined;
        }
      }
      if (value !== undefined) items.push({ bytes: this.#kept(key), base: 0, length, value: this.#kept(value) });
    }
    if (pending !== undefined) items.push(pending);
    return items;
  }

  /** The subtree of `items`; `row`: what the database has at its root's path. */
  #build(items: readonly Item[], depth: number, row: Uint8Array | undefined): TrieNode | undefined {
    this.madeNodes += items.length;
    return items.length === 0 ? undefined : buildSubtree(items, 0, items.length, depth, row);
  }

  #applyToExtension(node: ExtensionNode, low: number, high: number, depth: number): TrieNode | undefined {
    const { bytes, from, to } = node;
    const length = to - from;
    // Where the first insertion leaves the path; deletions that leave it find nothing to delete.
    let split = length;
    let first = high;
    let end = low;
    for (let i = low; i < high; i++) {
      const { key, value } = this.#changes[i]!;
      const shared = commonNibbles(key, depth, key.length * 2, bytes, from, to);
      if (shared < length && value === undefined) continue;
      if (shared < split) split = shared;
      if (first === high) first = i;
      end = i + 1;
    }
    if (first >= end) return node;
    for (let i = 0; i < split; i++) this.#path[depth + i] = nibbleAt(bytes, from + i);
    const childDepth = depth + split;

    if (split === length) {
      const child = node.child instanceof Uint8Array ? this.#resolveRef(node.child, 0, childDepth) : node.child;
      const after = this.#apply(child, first, end, childDepth);
      if (after === child) {
        node.child = child;
        if (child.changed) node.changed = true;
        return node;
      }
      return this.#prefix(node, node.to, after, depth, node.row);
    }

    const rest = node.child;
    if (!(rest instanceof Uint8Array)) rest.changed = true; // stays in memory, and is encoded again for its reference
    const branch = BranchNode.empty(undefined, split === 0 ? node.row : undefined);
    branch.set(
      nibbleAt(bytes, from + split),
      split + 1 === length ? rest : new ExtensionNode(bytes, from + split + 1, to, rest, true, undefined),
    );
    const after = this.#applyToBranch(branch, first, end, childDepth);
    return this.#prefix(node, from + split, after, depth, node.row);
  }

  /**
   * Puts the nibbles `range.from` to `to` in front of `node`, merging with what it is.
   *
   * @param depth of the result
   * @param row what the database has at its path
   */
  #prefix(
    range: { readonly bytes: Uint8Array; readonly from: number },
    to: number,
    node: TrieNode | undefined,
    depth: number,
    row: Uint8Array | undefined,
  ): TrieNode | undefined {
    const { bytes, from } = range;
    if (from === to) return node;
    if (node === undefined) {
      this.#forgetRow(row, depth);
      return undefined;
    }
    if (node.kind === "branch") return new ExtensionNode(bytes, from, to, node, true, row);
    this.#forget(node, depth + to - from);
    const path = joinNibbles({ bytes, from, to }, node);
    if (node.kind === "leaf") return new LeafNode(path.bytes, path.from, path.to, node.value, true, row);
    const joined = new ExtensionNode(path.bytes, path.from, path.to, node.child, true, row);
    joined.ref = node.ref;
    return joined;
  }

  #applyToBranch(node: BranchNode, low: number, high: number, depth: number): TrieNode | undefined {
    let at = low;
    if (this.#keyLength(at) === depth) {
      const { value } = this.#changes[at]!;
      if (value !== node.value && !(value !== undefined && node.value !== undefined && equalBytes(value, node.value))) {
        node.value = value && this.#kept(value);
        node.changed = true;
        node.reshaped = true;
      }
      at++;
    }
    while (at < high) {
      const nibble = nibbleAt(this.#changes[at]!.key, depth);
      const groupStart = at;
      do at++;
      while (at < high && nibbleAt(this.#changes[at]!.key, depth) === nibble);
      this.#path[depth] = nibble;
      const before = this.#childOf(node, nibble, depth + 1);
      const after = this.#apply(before, groupStart, at, depth + 1);
      if (after === before) {
        if (after === undefined) continue;
        // A reference that is not in the RLP yet stays what it is as long as it is right.
        if (after.changed || node.at[nibble] !== 0) node.keep(nibble, after);
        if (after.changed) node.changed = true;
      } else {
        node.set(nibble, after);
        node.changed = true;
      }
    }
    return node.changed ? this.#collapse(node, depth) : node;
  }

  /** What a branch becomes when less than two things are left in it. */
  #collapse(node: BranchNode, depth: number): TrieNode | undefined {
    let nibble = -1;
    for (let i = 0; i < 16; i++) {
      if (!node.has(i)) continue;
      if (nibble >= 0 || node.value !== undefined) return node;
      nibble = i;
    }
    if (nibble < 0) {
      if (node.value !== undefined) return new LeafNode(NO_RLP, 0, 0, node.value, true, node.row);
      this.#forget(node, depth);
      return undefined;
    }
    this.#path[depth] = nibble;
    const at = node.at[nibble]!;
    const kept = node.nodes?.[nibble];
    const resolved = this.#childOf(node, nibble, depth + 1)!;
    if (resolved.kind === "branch" && !resolved.changed) {
      const child = kept ?? node.rlp.slice(at, at + refSizeAt(node.rlp, at));
      if (!(child instanceof Uint8Array)) child.changed = true; // as in an extension that is split
      return new ExtensionNode(Uint8Array.of(nibble), 1, 2, child, true, node.row);
    }
    return this.#prefix({ bytes: Uint8Array.of(nibble), from: 1 }, 2, resolved, depth, node.row);
  }

  /** RLP of the changed node at `depth`, after listing it and all changed nodes below it in the order of their paths. */
  #encode(node: TrieNode, depth: number): Uint8Array {
    const write = this.#writeOf(node, depth);
    this.#writes.push(write);
    const rlp = this.#encodeKind(node, depth, write);
    node.changed = false;
    node.isEncoded = true;
    node.usedAt = this.#pass;
    if (rlp.length >= 32 || depth === 0) {
      write.rlp = rlp;
      node.row = rlp;
    } else {
      this.#hasEmptyWrites = true; // inside its parent; its row, if it had one, goes
      node.row = undefined;
    }
    return rlp;
  }

  #writeOf(node: TrieNode, depth: number): NodeWrite {
    let { write } = node;
    if (write === undefined) {
      write = new NodeWrite(this.#owner, this.#path.slice(0, depth), node.row);
      if (this.#inPlace && node.isEncoded) node.write = write;
      return write;
    }
    write.rlp = undefined;
    write.before = node.row;
    write.differsFrom = 0;
    write.differsTo = Number.POSITIVE_INFINITY;
    return write;
  }

  #encodeKind(node: TrieNode, depth: number, write: NodeWrite): Uint8Array {
    switch (node.kind) {
      case "leaf":
        return this.#inPlace ? encodeLeafInPlace(node, write) : encodeLeaf(node.bytes, node.from, node.to, node.value);
      case "extension": {
        const { bytes, from, to, child } = node;
        for (let i = 0; i < to - from; i++) this.#path[depth + i] = nibbleAt(bytes, from + i);
        if (!(child instanceof Uint8Array) && child.changed) node.ref = nodeRef(this.#encode(child, depth + to - from));
        return encodeExtension(bytes, from, to, node.ref!);
      }
      case "branch":
        return this.#encodeBranch(node, depth, write);
    }
  }

  /** PERF: as a rule only hashes of children change, and are made in their places. */
  #encodeBranch(node: BranchNode, depth: number, write: NodeWrite): Uint8Array {
    const { nodes, at, rlp: old } = node;
    const rlp = node.reshaped ? old : copyOf(old, node.spare);
    const refs = (this.#refs[depth] ??= new Array<Uint8Array | undefined>(16).fill(undefined));
    let isPatch = !node.reshaped;
    let first = 0;
    let last = 0;
    for (let i = 0; i < 16; i++) {
      refs[i] = undefined;
      const child = nodes?.[i];
      if (child === undefined) continue;
      if (child instanceof Uint8Array) {
        refs[i] = child;
        nodes![i] = undefined;
        isPatch = false;
      } else if (child.changed) {
        this.#path[depth] = i;
        const childRlp = this.#encode(child, depth + 1);
        const refAt = at[i]!;
        if (!node.reshaped && childRlp.length >= 32 && rlp[refAt] === HASH_REF_PREFIX) {
          writeKeccak256(rlp, refAt + 1, childRlp);
          if (first === 0) first = refAt + 1;
          last = refAt + HASH_REF_SIZE;
        } else {
          refs[i] = nodeRef(childRlp);
          isPatch = false;
        }
      }
    }
    if (isPatch && node.row === old) {
      write.differsFrom = first;
      write.differsTo = last;
    }
    node.rlp = isPatch ? rlp : rebuildBranch(node, rlp, refs);
    if (this.#inPlace && node.isEncoded) node.spare = old;
    node.reshaped = false;
    return node.rlp;
  }
}

/** A copy, made in `spare` if that is as long. */
function copyOf(bytes: Uint8Array, spare: Uint8Array | undefined): Uint8Array {
  if (spare?.length !== bytes.length) return bytes.slice();
  spare.set(bytes);
  return spare;
}

/** As `encodeLeaf`, in the leaf's spare bytes, where header and path are right, if the value fits. */
function encodeLeafInPlace(leaf: LeafNode, write: NodeWrite): Uint8Array {
  const { value, row, rowValue, spare, spareValue, isEncoded } = leaf;
  const { length } = value;
  let rlp = spare;
  let rlpValue = spareValue;
  // One byte may stand for itself or not.
  if (rlp !== undefined && rlpValue?.length === length && length > 1) {
    for (let i = 0; i < length; i++) rlpValue[i] = value[i]!;
  } else {
    rlp = encodeLeaf(leaf.bytes, leaf.from, leaf.to, value);
    rlpValue = rlp.subarray(rlp.length - length);
  }
  if (rowValue !== undefined && row?.length === rlp.length) write.differsFrom = rlp.length - length;
  if (isEncoded && rowValue !== undefined) {
    leaf.spare = row;
    leaf.spareValue = rowValue;
  }
  leaf.value = rlpValue;
  leaf.rowValue = rlpValue;
  return rlp;
}

/** Encodes the branch anew, with the references of `old` where `refs` has no other one, and notes where they lie. */
function rebuildBranch(node: BranchNode, old: Uint8Array, refs: (Uint8Array | undefined)[]): Uint8Array {
  const { at } = node;
  for (let i = 0; i < 16; i++) {
    const oldAt = at[i]!;
    if (refs[i] === undefined && oldAt !== 0) refs[i] = old.subarray(oldAt, oldAt + refSizeAt(old, oldAt));
  }
  const rlp = encodeBranch(refs, node.value);
  let next = branchHeaderSize(rlp);
  for (let i = 0; i < 16; i++) {
    const size = refs[i]?.length;
    at[i] = size === undefined ? 0 : next;
    next += size ?? 1;
  }
  return rlp;
}

function buildSubtree(items: readonly Item[], low: number, high: number, depth: number, row: Uint8Array | undefined): TrieNode {
  const first = items[low]!;
  const last = items[high - 1]!;
  if (high - low === 1) {
    return new LeafNode(first.bytes, first.base + depth, first.base + first.length, first.value, true, row);
  }
  const firstAt = first.base + depth;
  const shared = commonNibbles(
    first.bytes,
    firstAt,
    first.base + first.length,
    last.bytes,
    last.base + depth,
    last.base + last.length,
  );
  const branchDepth = depth + shared;
  const endsHere = first.length === branchDepth;
  const branch = BranchNode.empty(endsHere ? first.value : undefined, shared === 0 ? row : undefined);
  let at = endsHere ? low + 1 : low;
  while (at < high) {
    const nibble = nibbleAt(items[at]!.bytes, items[at]!.base + branchDepth);
    const groupStart = at;
    do at++;
    while (at < high && nibbleAt(items[at]!.bytes, items[at]!.base + branchDepth) === nibble);
    branch.set(nibble, buildSubtree(items, groupStart, at, branchDepth + 1, undefined));
  }
  return shared === 0 ? branch : new ExtensionNode(first.bytes, firstAt, firstAt + shared, branch, true, row);
}
