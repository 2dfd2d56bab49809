import { bytesToHex, compareBytes, equalBytes } from "@rnode/primitives";
import type { TrieNodeChange } from "@rnode/trie";
import { storageError } from "./errors.ts";
import { BLOCK_NUMBER_SIZE, blockNumberKey, readBlockNumber, readUint32, writeBlockNumber, writeUint32 } from "./keys.ts";
import { applyNodeDelta, encodeNodeDelta } from "./node-delta.ts";
import { deleteWithPrefix, type Table } from "./table.ts";

/*
 * Node key: 0 ‖ path, of the account trie; 1 ‖ owner 32 ‖ path, of a storage trie; one byte a nibble.
 *
 * The history has, for each block within the proof window, the nodes as they were before it:
 *   nodeHistory: block ‖ node key → kind 1 ‖ old version, whole or as the difference from the version after it
 *   nodeEpochs:  first block of an epoch ‖ node key → blocks of the epoch that changed the node, one bit each, 4 bytes
 * Both only grow at their end: a block changes some thousand nodes all over the tries, and an index ordered by node would write a page for
 * each of them once more. An epoch's rows are made when its last block comes; in the epoch that is not complete every block is asked.
 * One old version in sixteen is whole, chosen by path and block, so that a read follows few differences.
 */

const ACCOUNT_TRIE = 0;
const STORAGE_TRIE = 1;

const ABSENT = 0;
const WHOLE = 1;
const DELTA = 2;
const ABSENT_VERSION = Uint8Array.of(ABSENT);
/** A difference must save a quarter. */
const MAX_DELTA_PART = 0.75;

const EPOCH_BLOCKS = 32;
const EPOCH_ROW_SIZE = 4;

export interface NodeTableSet {
  readonly nodes: Table;
  readonly nodeHistory: Table;
  readonly nodeEpochs: Table;
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

/** Trie nodes of the head by path, and of the blocks before it within the proof window. */
export class NodeTables {
  readonly #tables: NodeTableSet;
  /** what the rows of the epoch at hand will hold, if this process has applied all of its blocks; else they are read when it ends */
  #epoch: { readonly first: number; next: number; readonly bitsByKey: Map<string, number> } | undefined;

  constructor(tables: NodeTableSet) {
    this.#tables = tables;
  }

  /** A copy. */
  readNode(owner: Uint8Array | undefined, path: Uint8Array): Uint8Array | undefined {
    return this.#tables.nodes.read(nodeKeyOf(owner, path));
  }

  /** The node after block `number`, whose history is kept up to block `head`. */
  readNodeAt(number: number, head: number, owner: Uint8Array | undefined, path: Uint8Array): Uint8Array | undefined {
    const key = nodeKeyOf(owner, path);
    const deltas: Uint8Array[] = [];
    let version: Uint8Array | undefined;
    let isFound = false;
    for (const block of this.#changesFrom(number + 1, head, key)) {
      const old = this.#tables.nodeHistory.read(rowKeyOf(block, key));
      if (old === undefined) throw damaged(key);
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

  /** Blocks from `from` to `head` that changed the node, ascending. PERF: one read an epoch, a thousandth of a millisecond each. */
  *#changesFrom(from: number, head: number, key: Uint8Array): Generator<number> {
    for (let epoch = epochOf(from); epoch <= head; epoch += EPOCH_BLOCKS) {
      const last = epoch + EPOCH_BLOCKS - 1;
      if (last > head) {
        for (let block = Math.max(from, epoch); block <= head; block++) {
          if (this.#tables.nodeHistory.has(rowKeyOf(block, key))) yield block;
        }
        return;
      }
      const row = this.#tables.nodeEpochs.peek(rowKeyOf(epoch, key));
      if (row === undefined) continue;
      const bits = readUint32(row, 0);
      for (let block = Math.max(from, epoch); block <= last; block++) {
        if (((bits >>> (block - epoch)) & 1) === 1) yield block;
      }
    }
  }

  /** Writes nodes without remembering what they replace. */
  writeGenesis(nodes: Iterable<TrieNodeChange>): void {
    const rows = [...nodes].map(({ owner, path, rlp }) => ({ key: nodeKeyOf(owner, path), rlp }));
    rows.sort((a, b) => compareBytes(a.key, b.key));
    for (const { key, rlp } of rows) if (rlp !== undefined) this.#tables.nodes.write(key, rlp);
  }

  /**
   * Applies the node changes of block `number` and remembers what they replace.
   *
   * @param clearedOwners storage tries of which nothing but `nodes` remains
   */
  apply(number: number, nodes: readonly TrieNodeChange[], clearedOwners: readonly Uint8Array[]): void {
    const { nodes: table, nodeHistory } = this.#tables;
    const rows: { key: Uint8Array; rlp: Uint8Array | undefined }[] = [];
    for (const owner of clearedOwners) {
      for (const { key } of table.withPrefix(nodeKeyOf(owner, NO_PATH))) rows.push({ key, rlp: undefined });
    }
    for (const { owner, path, rlp } of nodes) rows.push({ key: nodeKeyOf(owner, path), rlp });
    const bitsByKey = this.#openEpoch(number);
    const bit = 1 << (number - epochOf(number));
    rows.sort((a, b) => compareBytes(a.key, b.key)); // stable: the deletions of a cleared trie come before its new nodes
    for (let i = 0; i < rows.length; i++) {
      const { key, rlp } = rows[i]!;
      const next = rows[i + 1];
      if (next !== undefined && equalBytes(key, next.key)) continue;
      const old = table.peek(key);
      if (old === undefined ? rlp === undefined : rlp !== undefined && equalBytes(old, rlp)) continue;
      nodeHistory.write(rowKeyOf(number, key), encodeOldVersion(old, rlp, number, key));
      if (rlp === undefined) table.delete(key);
      else table.write(key, rlp);
      if (bitsByKey !== undefined) addBit(bitsByKey, key, bit);
    }
    if (isLastOfEpoch(number)) this.#writeEpoch(epochOf(number));
  }

  /** After a transaction that was undone: what is kept in memory may not be in the database. */
  forget(): void {
    this.#epoch = undefined;
  }

  #openEpoch(number: number): Map<string, number> | undefined {
    const first = epochOf(number);
    if (number === first) this.#epoch = { first, next: number, bitsByKey: new Map() };
    if (this.#epoch?.first !== first || this.#epoch.next !== number) this.#epoch = undefined;
    else this.#epoch.next++;
    return this.#epoch?.bitsByKey;
  }

  #writeEpoch(first: number): void {
    const { nodeEpochs } = this.#tables;
    const bitsByKey = this.#epoch?.bitsByKey ?? this.#readEpoch(first);
    this.#epoch = undefined;
    const row = new Uint8Array(EPOCH_ROW_SIZE);
    for (const key of [...bitsByKey.keys()].sort()) {
      writeUint32(row, 0, bitsByKey.get(key)!);
      nodeEpochs.write(rowKeyOf(first, Buffer.from(key, "latin1")), row);
    }
  }

  #readEpoch(first: number): Map<string, number> {
    const bitsByKey = new Map<string, number>();
    for (const rowKey of this.#tables.nodeHistory.keys(blockNumberKey(first), blockNumberKey(first + EPOCH_BLOCKS))) {
      addBit(bitsByKey, rowKey.subarray(BLOCK_NUMBER_SIZE), 1 << (readBlockNumber(rowKey, 0) - first));
    }
    return bitsByKey;
  }

  /** Takes the changes of block `number`, the head, back. */
  unwind(number: number): void {
    const { nodes: table, nodeHistory, nodeEpochs } = this.#tables;
    this.#epoch = undefined;
    if (isLastOfEpoch(number)) deleteAll(nodeEpochs, blockNumberKey(epochOf(number)));
    for (const { key: rowKey, value: old } of [...nodeHistory.withPrefix(blockNumberKey(number))]) {
      const key = rowKey.subarray(BLOCK_NUMBER_SIZE);
      if (old[0] === ABSENT) table.delete(key);
      else if (old[0] === WHOLE) table.write(key, old.subarray(1));
      else table.write(key, applyNodeDelta(old, 1, table.read(key) ?? NO_PATH));
      nodeHistory.delete(rowKey);
    }
  }

  /** Forgets the history of block `number`, the oldest kept. */
  prune(number: number): void {
    deleteAll(this.#tables.nodeHistory, blockNumberKey(number));
    if (isLastOfEpoch(number)) deleteAll(this.#tables.nodeEpochs, blockNumberKey(epochOf(number)));
  }

  /**
   * The same in parts, for a block below all that is still asked for.
   *
   * @returns how many rows went; less than `limit`: none is left
   */
  pruneRows(number: number, limit: number): number {
    const count = deleteWithPrefix(this.#tables.nodeHistory, blockNumberKey(number), limit);
    if (count === limit || !isLastOfEpoch(number)) return count;
    return count + deleteWithPrefix(this.#tables.nodeEpochs, blockNumberKey(epochOf(number)), limit - count);
  }

  /** Every node of one trie by path, ascending. */
  *allNodes(owner: Uint8Array | undefined): Generator<{ path: Uint8Array; rlp: Uint8Array }> {
    const prefix = nodeKeyOf(owner, NO_PATH);
    for (const { key, value } of this.#tables.nodes.withPrefix(prefix)) yield { path: key.subarray(prefix.length), rlp: value };
  }
}

function rowKeyOf(number: number, key: Uint8Array): Uint8Array {
  const rowKey = new Uint8Array(BLOCK_NUMBER_SIZE + key.length);
  writeBlockNumber(rowKey, 0, number);
  rowKey.set(key, BLOCK_NUMBER_SIZE);
  return rowKey;
}

/** Keys as latin1: one character a byte, so that strings order as bytes do. */
function addBit(bitsByKey: Map<string, number>, key: Uint8Array, bit: number): void {
  const text = Buffer.from(key.buffer, key.byteOffset, key.length).toString("latin1");
  bitsByKey.set(text, (bitsByKey.get(text) ?? 0) | bit);
}

const epochOf = (number: number): number => number - (number % EPOCH_BLOCKS);
const isLastOfEpoch = (number: number): boolean => number % EPOCH_BLOCKS === EPOCH_BLOCKS - 1;

function deleteAll(table: Table, prefix: Uint8Array): void {
  deleteWithPrefix(table, prefix, Number.POSITIVE_INFINITY);
}

function damaged(key: Uint8Array): Error {
  return storageError("storage/corrupted", { row: `history of trie node ${bytesToHex(key)}`, reason: "a version is missing" });
}

/** @returns a view that the next call may overwrite */
function encodeOldVersion(old: Uint8Array | undefined, next: Uint8Array | undefined, number: number, key: Uint8Array): Uint8Array {
  if (old === undefined) return ABSENT_VERSION;
  if (next !== undefined && !isWholeTurn(number, key)) {
    const delta = encodeNodeDelta(old, next, 1, Math.floor(old.length * MAX_DELTA_PART));
    if (delta !== undefined) {
      delta[0] = DELTA;
      return delta;
    }
  }
  const whole = new Uint8Array(1 + old.length);
  whole[0] = WHOLE;
  for (let i = 0; i < old.length; i++) whole[1 + i] = old[i]!; // by index: `old` is what `Table.peek` gives
  return whole;
}

function isWholeTurn(number: number, key: Uint8Array): boolean {
  let mix = number;
  for (let i = Math.max(0, key.length - 8); i < key.length; i++) mix = (mix * 31 + key[i]!) | 0;
  return Math.imul(mix, 0x9e3779b1) >>> 28 === 0; // four of 32 bits: one in sixteen
}
