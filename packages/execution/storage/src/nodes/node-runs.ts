import { compareBytes } from "@rnode/primitives";
import type { TrieNodeChange } from "@rnode/trie";

/** The nodes of one trie: `nodes` from `from` to `to`, ascending by path. */
export interface NodeRun {
  readonly nodes: readonly TrieNodeChange[];
  readonly from: number;
  readonly to: number;
}

/** The account trie comes first. */
function compareOwners(a: Uint8Array | undefined, b: Uint8Array | undefined): number {
  if (a === undefined || b === undefined) return (a === undefined ? 0 : 1) - (b === undefined ? 0 : 1);
  return compareBytes(a, b);
}

/**
 * The changes of a block, trie by trie in key order, with each key once: if a node changed several times, the first change has the old
 * version and the last change the new one. PERF: the lists of the state trie are in this order already, within each trie.
 */
export function orderedRuns(nodes: readonly TrieNodeChange[]): NodeRun[] {
  const runs = runsOf(nodes);
  const compareRuns = (a: NodeRun, b: NodeRun): number => compareOwners(a.nodes[a.from]!.owner, b.nodes[b.from]!.owner);
  if (runs !== undefined) {
    runs.sort(compareRuns);
    if (runs.every((run, index) => index === 0 || compareRuns(runs[index - 1]!, run) < 0)) return runs;
  }
  const sorted = [...nodes].sort((a, b) => compareOwners(a.owner, b.owner) || compareBytes(a.path, b.path)); // stable
  const merged: TrieNodeChange[] = [];
  let owner: Uint8Array | undefined;
  for (const node of sorted) {
    const last = merged.at(-1);
    if (last === undefined || compareOwners(last.owner, node.owner) !== 0) owner = node.owner;
    if (last !== undefined && last.owner === owner && compareBytes(last.path, node.path) === 0) {
      merged[merged.length - 1] = { ...last, rlp: node.rlp };
    } else {
      merged.push({ ...node, owner });
    }
  }
  return runsOf(merged)!;
}

/** The parts with one owner each; undefined if the paths of any part do not ascend. */
function runsOf(nodes: readonly TrieNodeChange[]): NodeRun[] | undefined {
  const runs: NodeRun[] = [];
  for (let from = 0; from < nodes.length; ) {
    const { owner } = nodes[from]!;
    let to = from + 1;
    for (; to < nodes.length && nodes[to]!.owner === owner; to++) {
      if (compareBytes(nodes[to - 1]!.path, nodes[to]!.path) >= 0) return undefined;
    }
    runs.push({ nodes, from, to });
    from = to;
  }
  return runs;
}

/** Whether a listed node is unchanged. */
export function isSameVersion({ before, rlp, differsFrom = 0, differsTo = Number.POSITIVE_INFINITY }: TrieNodeChange): boolean {
  if (before === undefined || rlp === undefined) return before === rlp;
  if (before.length !== rlp.length) return false;
  const end = Math.min(differsTo, rlp.length);
  for (let i = differsFrom; i < end; i++) if (before[i] !== rlp[i]) return false;
  return true;
}

/** Size of the longest node key: kind, owner, and one byte per nibble. */
const MAX_KEY_SIZE = 1 + 32 + 64;
const ACCOUNT_TRIE = 0;
const STORAGE_TRIE = 1;

/** Builds node keys (node-tables.ts) in one buffer. PERF: no key is allocated. */
export class NodeKeyBuffer {
  readonly #bytes = new Uint8Array(MAX_KEY_SIZE);
  /** views by length */
  readonly #views: Uint8Array[] = [];
  #pathAt = 0;

  setOwner(owner: Uint8Array | undefined): void {
    this.#bytes[0] = owner === undefined ? ACCOUNT_TRIE : STORAGE_TRIE;
    this.#pathAt = 1;
    if (owner === undefined) return;
    this.#bytes.set(owner, 1);
    this.#pathAt += owner.length;
  }

  /** The key of the node at a path. The next call overwrites it. */
  withPath(paths: Uint8Array, at: number, length: number): Uint8Array {
    const bytes = this.#bytes;
    const pathAt = this.#pathAt;
    for (let i = 0; i < length; i++) bytes[pathAt + i] = paths[at + i]!;
    const size = pathAt + length;
    return (this.#views[size] ??= bytes.subarray(0, size));
  }
}

type DrainedNode = (
  owner: Uint8Array | undefined,
  paths: Uint8Array,
  at: number,
  length: number,
  before: Uint8Array | undefined,
  rlp: Uint8Array | undefined,
) => void;

/**
 * Collects the nodes that blocks changed, for each block and trie in ascending path order. They are returned in key order, each
 * as before the first block and after the last. PERF: the paths are in one buffer, so the garbage collector has little to copy.
 */
export class ChangedNodes {
  /** for each node: length 1 ‖ nibbles, one per byte */
  #paths = new Uint8Array(4096);
  #pathsSize = 0;
  #pathAt: number[] = [];
  #befores: (Uint8Array | undefined)[] = [];
  #rlps: (Uint8Array | undefined)[] = [];
  #runs: { readonly owner: Uint8Array | undefined; readonly from: number }[] = [];

  clear(): void {
    this.#pathsSize = 0;
    this.#pathAt = [];
    this.#befores = [];
    this.#rlps = [];
    this.#runs = [];
  }

  /** Starts a run: the nodes added next belong to this trie. */
  begin(owner: Uint8Array | undefined): void {
    this.#runs.push({ owner, from: this.#rlps.length });
  }

  add(path: Uint8Array, before: Uint8Array | undefined, rlp: Uint8Array | undefined): void {
    const { length } = path;
    const needed = this.#pathsSize + 1 + length;
    if (needed > this.#paths.length) {
      const larger = new Uint8Array(2 * needed);
      larger.set(this.#paths.subarray(0, this.#pathsSize));
      this.#paths = larger;
    }
    const paths = this.#paths;
    const at = this.#pathsSize;
    paths[at] = length;
    for (let i = 0; i < length; i++) paths[at + 1 + i] = path[i]!;
    this.#pathAt.push(at);
    this.#befores.push(before);
    this.#rlps.push(rlp);
    this.#pathsSize = needed;
  }

  /** Passes all nodes to `onNode`, and clears them. */
  drain(onNode: DrainedNode): void {
    const runs = this.#runs.map(({ owner, from }, index) => ({
      owner,
      from,
      to: this.#runs[index + 1]?.from ?? this.#rlps.length,
    }));
    runs.sort((a, b) => compareOwners(a.owner, b.owner)); // a stable sort: blocks stay in order
    const paths = this.#paths;
    for (let first = 0; first < runs.length; ) {
      const { owner } = runs[first]!;
      let end = first + 1;
      while (end < runs.length && compareOwners(owner, runs[end]!.owner) === 0) end++;
      for (const node of this.#merged(runs.slice(first, end))) {
        const at = this.#pathAt[node]!;
        onNode(owner, paths, at + 1, paths[at]!, this.#befores[node], this.#rlps[node]);
      }
      first = end;
    }
    this.clear();
  }

  /** The nodes of one trie by path; the last one if a path occurs several times. */
  #merged(runs: readonly { readonly from: number; readonly to: number }[]): Int32Array {
    let lists = runs.map(({ from, to }) => Int32Array.from({ length: to - from }, (_, i) => from + i));
    while (lists.length > 1) {
      const next: Int32Array<ArrayBuffer>[] = [];
      for (let i = 0; i < lists.length; i += 2) {
        const older = lists[i]!;
        const newer = lists[i + 1];
        next.push(newer === undefined ? older : this.#mergedPair(older, newer));
      }
      lists = next;
    }
    return lists[0]!;
  }

  #mergedPair(older: Int32Array, newer: Int32Array): Int32Array<ArrayBuffer> {
    const merged = new Int32Array(older.length + newer.length);
    let size = 0;
    let i = 0;
    let j = 0;
    while (i < older.length && j < newer.length) {
      const order = this.#comparePaths(older[i]!, newer[j]!);
      if (order < 0) {
        merged[size++] = older[i++]!;
      } else {
        if (order === 0) this.#befores[newer[j]!] = this.#befores[older[i++]!];
        merged[size++] = newer[j++]!;
      }
    }
    while (i < older.length) merged[size++] = older[i++]!;
    while (j < newer.length) merged[size++] = newer[j++]!;
    return merged.subarray(0, size);
  }

  #comparePaths(a: number, b: number): number {
    const paths = this.#paths;
    const aAt = this.#pathAt[a]!;
    const bAt = this.#pathAt[b]!;
    const aLength = paths[aAt]!;
    const bLength = paths[bAt]!;
    const shared = Math.min(aLength, bLength);
    for (let i = 1; i <= shared; i++) {
      const difference = paths[aAt + i]! - paths[bAt + i]!;
      if (difference !== 0) return difference;
    }
    return aLength - bLength;
  }
}
