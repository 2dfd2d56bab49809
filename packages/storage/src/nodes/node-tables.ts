import { bytesToHex, compareBytes } from "@rnode/primitives";
import type { TrieNodeChange } from "@rnode/trie";
import { blockNumberKey } from "../database/keys.ts";
import { deleteWithPrefix, type RowTable } from "../database/table.ts";
import { storageError } from "../errors.ts";
import { applyNodeDelta, encodeNodeDelta } from "./node-delta.ts";
import { deleteEpoch, EPOCH_BLOCKS, EpochNotes, epochOf, isLastOfEpoch, readEpochBits } from "./node-epochs.ts";
import { findNodeVersion, NodeHistoryWriter, nodeVersionsOf } from "./node-history.ts";
import { ChangedNodes, NodeKeyBuffer, orderedRuns } from "./node-runs.ts";

/*
 * Node key: 0 ‖ path for the account trie, 1 ‖ owner 32 ‖ path for a storage trie; a path has one byte per nibble.
 *
 * For each block within the proof window, the history has the nodes as they were before the block:
 *   nodeHistory: chunks of node key → kind 1 ‖ old version, whole or as the difference from the next version (node-history.ts)
 *   nodeEpochs:  which of the 32 blocks of an epoch may have changed a node (node-epochs.ts)
 * Both tables only grow at their end: a block changes several thousand nodes all over the tries, and an index ordered by node would have to
 * write a page for each of them. The rows of an epoch are written with its last block; in an incomplete epoch, each block is asked.
 * One old version in sixteen, deeper in a trie one in 64, chosen by path and block, is stored whole, so that a read has to follow few differences.
 */

const ACCOUNT_TRIE = 0;
const STORAGE_TRIE = 1;

const ACCOUNT_PATH_AT = 1;
const STORAGE_PATH_AT = 33;
/** Levels above it have few nodes. */
const FIRST_DEEP_LEVEL = 3;

const ABSENT = 0;
const WHOLE = 1;
const DELTA = 2;
const ABSENT_VERSION = Uint8Array.of(ABSENT);
/** A difference must save at least a quarter. */
const MAX_DELTA_PART = 0.75;

export interface NodeTableSet {
  readonly nodes: RowTable;
  readonly nodeHistory: RowTable;
  readonly nodeEpochs: RowTable;
}

export function nodeKeyOf(owner: Uint8Array | undefined, path: Uint8Array): Uint8Array {
  if (owner === undefined) {
    const key = new Uint8Array(1 + path.length);
    key[0] = ACCOUNT_TRIE;
    key.set(path, 1);
    return key;
  }
  const key = new Uint8Array(33 + path.length);
  key[0] = STORAGE_TRIE;
  key.set(owner, 1);
  key.set(path, 33);
  return key;
}

const NO_PATH = new Uint8Array(0);
const ALL_BLOCKS = 0xffff_ffff;

/** What a block changed in the trie nodes. */
export interface BlockNodes {
  readonly number: number;
  readonly nodes: readonly TrieNodeChange[];
  /** storage tries of which nothing remains but `nodes` */
  readonly clearedOwners: readonly Uint8Array[];
}

/** Trie nodes of the head by path, and those of earlier blocks within the proof window. */
export class NodeTables {
  readonly #tables: NodeTableSet;
  /** the current epoch, if this process has applied all of its blocks; otherwise they are read when it ends */
  #epoch: { readonly notes: EpochNotes; next: number } | undefined;
  /** nodes whose history is written, but which themselves are not yet */
  readonly #changed = new ChangedNodes();
  readonly #key = new NodeKeyBuffer();
  readonly #history: NodeHistoryWriter;

  constructor(tables: NodeTableSet) {
    this.#tables = tables;
    this.#history = new NodeHistoryWriter(tables.nodeHistory);
  }

  /** Returns a copy. */
  readNode(owner: Uint8Array | undefined, path: Uint8Array): Uint8Array | undefined {
    return this.#tables.nodes.read(nodeKeyOf(owner, path));
  }

  /** The node after block `number`. The history must be complete up to block `head`. */
  readNodeAt(number: number, head: number, owner: Uint8Array | undefined, path: Uint8Array): Uint8Array | undefined {
    const key = nodeKeyOf(owner, path);
    const deltas: Uint8Array[] = [];
    let version: Uint8Array | undefined;
    let isFound = false;
    for (const block of this.#changesFrom(number + 1, head, key)) {
      const old = findNodeVersion(this.#tables.nodeHistory, block, key);
      if (old === undefined) continue;
      if (old[0] === DELTA) {
        deltas.push(old);
        continue;
      }
      version = old[0] === WHOLE ? old.subarray(1) : undefined;
      isFound = true;
      break;
    }
    if (!isFound) version = this.#tables.nodes.read(key);
    for (const delta of deltas.reverse()) {
      if (version === undefined) throw damaged(key);
      version = applyNodeDelta(delta, 1, version);
    }
    return version;
  }

  /** The blocks from `from` to `head` that may have changed the node, in ascending order. PERF: one read per epoch. */
  *#changesFrom(from: number, head: number, key: Uint8Array): Generator<number> {
    for (let epoch = epochOf(from); epoch <= head; epoch += EPOCH_BLOCKS) {
      const last = epoch + EPOCH_BLOCKS - 1;
      const bits = last > head ? ALL_BLOCKS : readEpochBits(this.#tables.nodeEpochs, epoch, key);
      if (bits === 0) continue;
      for (let block = Math.max(from, epoch); block <= Math.min(last, head); block++) {
        if (((bits >>> (block - epoch)) & 1) === 1) yield block;
      }
    }
  }

  /** Writes nodes without recording what they replace. */
  writeGenesis(nodes: Iterable<TrieNodeChange>): void {
    const rows = [...nodes].map(({ owner, path, rlp }) => ({ key: nodeKeyOf(owner, path), rlp }));
    rows.sort((a, b) => compareBytes(a.key, b.key));
    for (const { key, rlp } of rows) if (rlp !== undefined) this.#tables.nodes.write(key, rlp);
  }

  /** Applies the node changes of blocks in order, and records what each replaces. */
  apply(blocks: readonly BlockNodes[]): void {
    this.#changed.clear();
    for (const block of blocks) this.add(block);
    this.flush();
  }

  /**
   * Records what the next block replaces; `flush` writes its nodes. PERF: a node that several blocks change is written once.
   *
   * @param block if `clearedOwners` is not empty, the rows of those tries are read, so they must be in the table or in blocks added
   * before
   */
  add(block: BlockNodes): void {
    const isClearing = block.clearedOwners.length > 0;
    if (isClearing) this.flush();
    this.#remember(block);
    if (isClearing) this.flush();
  }

  /** Writes the nodes of the blocks that were added. */
  flush(): void {
    const key = this.#key;
    this.#changed.drain((owner, paths, at, length, rlp) => {
      key.setOwner(owner);
      const bytes = key.withPath(paths, at, length);
      if (rlp === undefined) this.#tables.nodes.delete(bytes);
      else this.#tables.nodes.write(bytes, rlp);
    });
  }

  /** Writes the history of a block, and notes the nodes that really change. */
  #remember({ number, nodes, clearedOwners }: BlockNodes): void {
    const all: TrieNodeChange[] = [];
    for (const owner of clearedOwners) {
      for (const { path, rlp } of this.allNodes(owner)) all.push({ owner, path, rlp: undefined, before: rlp });
    }
    const history = this.#history;
    history.begin(number);
    const notes = this.#openEpoch(number);
    const key = this.#key;
    for (const run of orderedRuns(all.length === 0 ? nodes : [...all, ...nodes])) {
      const { owner } = run.nodes[run.from]!;
      key.setOwner(owner);
      this.#changed.begin(owner);
      for (let i = run.from; i < run.to; i++) {
        const node = run.nodes[i]!;
        if (isSameVersion(node)) continue;
        const { path } = node;
        const bytes = key.withPath(path, 0, path.length);
        history.add(bytes, encodeOldVersion(node, number, bytes));
        notes?.add(number, bytes);
        this.#changed.add(path, node.rlp);
      }
    }
    history.finish();
    if (isLastOfEpoch(number)) this.#writeEpoch(epochOf(number));
  }

  /** Reads what is needed to continue after block `head`, whose epoch this object has not followed. */
  resume(head: number): void {
    const first = epochOf(head + 1);
    this.#epoch = { notes: this.#readEpoch(first), next: head + 1 };
  }

  /** To be called after an aborted transaction: data in memory may not be in the database. */
  forget(): void {
    this.#epoch = undefined;
  }

  #openEpoch(number: number): EpochNotes | undefined {
    const first = epochOf(number);
    if (number === first) this.#epoch = { notes: new EpochNotes(first), next: number };
    if (this.#epoch?.notes.first !== first || this.#epoch.next !== number) this.#epoch = undefined;
    else this.#epoch.next++;
    return this.#epoch?.notes;
  }

  #writeEpoch(first: number): void {
    (this.#epoch?.notes ?? this.#readEpoch(first)).write(this.#tables.nodeEpochs);
    this.#epoch = undefined;
  }

  #readEpoch(first: number): EpochNotes {
    const notes = new EpochNotes(first);
    for (let number = first; number < first + EPOCH_BLOCKS; number++) {
      for (const { key } of nodeVersionsOf(this.#tables.nodeHistory, number)) notes.add(number, key);
    }
    return notes;
  }

  /** Undoes block `number`, which must be the head. */
  unwind(number: number): void {
    const { nodes: table, nodeHistory, nodeEpochs } = this.#tables;
    this.#epoch = undefined;
    if (isLastOfEpoch(number)) deleteEpoch(nodeEpochs, epochOf(number));
    for (const { key, version } of [...nodeVersionsOf(nodeHistory, number)]) {
      if (version[0] === ABSENT) table.delete(key);
      else if (version[0] === WHOLE) table.write(key, version.subarray(1));
      else table.write(key, applyNodeDelta(version, 1, table.read(key) ?? NO_PATH));
    }
    deleteAll(nodeHistory, blockNumberKey(number));
  }

  /** Removes the history of block `number`, the oldest that is kept. */
  prune(number: number): void {
    deleteAll(this.#tables.nodeHistory, blockNumberKey(number));
    if (isLastOfEpoch(number)) deleteEpoch(this.#tables.nodeEpochs, epochOf(number));
  }

  /**
   * Removes a part of it, for a block below everything that can still be read.
   *
   * @returns the number of rows removed; less than `limit`: none are left
   */
  pruneRows(number: number, limit: number): number {
    const count = deleteWithPrefix(this.#tables.nodeHistory, blockNumberKey(number), limit);
    if (count === limit || !isLastOfEpoch(number)) return count;
    return count + deleteEpoch(this.#tables.nodeEpochs, epochOf(number), limit - count);
  }

  /** All nodes of one trie, in ascending path order. */
  *allNodes(owner: Uint8Array | undefined): Generator<{ path: Uint8Array; rlp: Uint8Array }> {
    const prefix = nodeKeyOf(owner, NO_PATH);
    for (const { key, value } of this.#tables.nodes.withPrefix(prefix)) yield { path: key.subarray(prefix.length), rlp: value };
  }
}

function deleteAll(table: RowTable, prefix: Uint8Array): void {
  deleteWithPrefix(table, prefix, Number.POSITIVE_INFINITY);
}

function damaged(key: Uint8Array): Error {
  return storageError("storage/corrupted", { row: `history of trie node ${bytesToHex(key)}`, reason: "a version is missing" });
}

function isSameVersion({ before, rlp, differsFrom = 0, differsTo = Number.POSITIVE_INFINITY }: TrieNodeChange): boolean {
  if (before === undefined || rlp === undefined) return before === rlp;
  if (before.length !== rlp.length) return false;
  const end = Math.min(differsTo, rlp.length);
  for (let i = differsFrom; i < end; i++) if (before[i] !== rlp[i]) return false;
  return true;
}

/** A buffer for the kind and a whole node. PERF: it is reused. */
let wholeVersion = new Uint8Array(1024);

/** @returns a view that the next call may overwrite */
function encodeOldVersion(
  { before: old, rlp: next, differsFrom, differsTo = Number.POSITIVE_INFINITY }: TrieNodeChange,
  number: number,
  key: Uint8Array,
): Uint8Array {
  if (old === undefined) return ABSENT_VERSION;
  if (next !== undefined && !isWholeTurn(number, key)) {
    const end = Math.min(differsTo, old.length);
    const delta = encodeNodeDelta(old, next, 1, Math.floor(old.length * MAX_DELTA_PART), differsFrom, end);
    if (delta !== undefined) {
      delta[0] = DELTA;
      return delta;
    }
  }
  const size = 1 + old.length;
  if (wholeVersion.length < size) wholeVersion = new Uint8Array(size);
  wholeVersion[0] = WHOLE;
  wholeVersion.set(old, 1);
  return wholeVersion.subarray(0, size);
}

/**
 * One in sixteen of the upper nodes, which nearly every block changes, and one in 64 of the others. PERF: a whole version takes 530 bytes, a
 * difference some 45; with one in sixteen of all, whole ones were a third of the history.
 */
function isWholeTurn(number: number, key: Uint8Array): boolean {
  let mix = number;
  for (let i = Math.max(0, key.length - 8); i < key.length; i++) mix = (mix * 31 + key[i]!) | 0;
  const depth = key.length - (key[0] === ACCOUNT_TRIE ? ACCOUNT_PATH_AT : STORAGE_PATH_AT);
  return Math.imul(mix, 0x9e3779b1) >>> (depth < FIRST_DEEP_LEVEL ? 28 : 26) === 0;
}
