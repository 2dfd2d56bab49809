import type { TrieNode } from "./node.ts";
import type { TrieNodeReader } from "./node-reader.ts";
import { sortChanges, type TrieChange, type TrieUpdate } from "./trie-change.ts";
import { TrieUpdater } from "./update-trie.ts";

/** A trie whose decoded nodes stay in memory from one update to the next, so that only missing nodes are read. */
export class LiveTrie {
  readonly #owner: Uint8Array | undefined;
  #root: Uint8Array;
  #node: TrieNode | undefined;
  #pass = 0;
  #nodeCount = 0;

  constructor(owner: Uint8Array | undefined, root: Uint8Array) {
    this.#owner = owner;
    this.#root = root;
  }

  get root(): Uint8Array {
    return this.#root;
  }

  /** Nodes in memory, including those that were created and dropped since the last `evict`. */
  get nodeCount(): number {
    return this.#nodeCount;
  }

  /**
   * Like `updateTrie`. If it throws, the trie is unchanged.
   *
   * @param pass orders the updates for `evictBefore`; ascending
   */
  update(reader: TrieNodeReader, changes: Iterable<TrieChange>, pass = this.#pass + 1): TrieUpdate {
    const sorted = sortChanges(changes);
    if (sorted.length === 0) return { root: this.#root, nodes: [] };
    this.#pass = pass;
    const updater = new TrieUpdater(reader, this.#owner, sorted, pass);
    const before = this.#node;
    this.#node = undefined; // if the update throws, half-changed nodes must be read again
    const { node, update } = updater.run(this.#root, before);
    this.#node = node;
    this.#root = update.root;
    this.#nodeCount += updater.madeNodes;
    return update;
  }

  /**
   * The value of a key; undefined: none. The nodes that are read stay in memory. @throws {CodedError} trie/missing-node,
   * trie/bad-node
   */
  get(reader: TrieNodeReader, key: Uint8Array): Uint8Array | undefined {
    const updater = new TrieUpdater(reader, this.#owner, [], this.#pass);
    const { root, value } = updater.find(this.#root, this.#node, key);
    this.#node = root;
    this.#nodeCount += updater.madeNodes;
    return value;
  }

  /** Discards nodes that the last `passes` updates did not visit; they must be in the reader from now on. */
  evict(passes: number): void {
    this.evictBefore(this.#pass - passes + 1);
  }

  /** Discards nodes that no update since the pass `oldest` has visited. */
  evictBefore(oldest: number): void {
    if (this.#node !== undefined && this.#node.usedAt < oldest) this.#node = undefined;
    this.#nodeCount = this.#node === undefined ? 0 : evictBelow(this.#node, oldest);
  }
}

/** @returns the number of nodes that remain */
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
