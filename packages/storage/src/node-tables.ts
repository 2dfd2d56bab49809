import { bytesToHex, compareBytes, equalBytes } from "@rnode/primitives";
import type { TrieNodeChange } from "@rnode/trie";
import { storageError } from "./errors.ts";
import { BLOCK_NUMBER_SIZE, blockNumberKey, readBlockNumber, writeBlockNumber } from "./keys.ts";
import { applyNodeDelta, encodeNodeDelta } from "./node-delta.ts";
import type { Table } from "./table.ts";

/*
 * Node key: 0 ‖ path, of the account trie; 1 ‖ owner 32 ‖ path, of a storage trie; one byte a nibble.
 *
 * The history has, for each block within the proof window, the nodes as they were before it:
 *   nodeHistory: node key ‖ 0xff (paths differ in length; no nibble is that large) ‖ block → kind 1 ‖ …
 *   nodeChanges: block → the node keys, ascending, each: bytes shared with the one before 1 ‖ further bytes 1 ‖ those bytes
 * An old version is stored whole or as the difference from the version after it. One in sixteen is whole, chosen by path and
 * block, so that a read of an old version follows few differences.
 */

const ACCOUNT_TRIE = 0;
const STORAGE_TRIE = 1;
const PATH_END = 0xff;

const ABSENT = 0;
const WHOLE = 1;
const DELTA = 2;

/** A difference must save a quarter. */
const MAX_DELTA_PART = 0.75;

export interface NodeTableSet {
  readonly nodes: Table;
  readonly nodeHistory: Table;
  readonly nodeChanges: Table;
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

  constructor(tables: NodeTableSet) {
    this.#tables = tables;
  }

  /** A copy. */
  readNode(owner: Uint8Array | undefined, path: Uint8Array): Uint8Array | undefined {
    return this.#tables.nodes.read(nodeKeyOf(owner, path));
  }

  /** The node after block `number`, whose history is kept. */
  readNodeAt(number: number, owner: Uint8Array | undefined, path: Uint8Array): Uint8Array | undefined {
    const key = nodeKeyOf(owner, path);
    const historyKey = historyKeyOf(key, number + 1);
    const prefix = historyKey.subarray(0, key.length + 1);
    const deltas: Uint8Array[] = [];
    let version: Uint8Array | undefined;
    let isFound = false;
    for (const { value } of this.#tables.nodeHistory.withPrefix(prefix, historyKey)) {
      if (value[0] === DELTA) {
        deltas.push(value);
        continue;
      }
      version = value[0] === WHOLE ? value.subarray(1) : undefined;
      isFound = true;
      break;
    }
    if (!isFound) version = this.#tables.nodes.read(key);
    for (const delta of deltas.reverse()) {
      if (version === undefined)
        throw storageError("storage/corrupted", { row: `node ${bytesToHex(key)}`, reason: "version missing" });
      version = applyNodeDelta(delta, 1, version);
    }
    return version;
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
    const { nodes: table, nodeHistory, nodeChanges } = this.#tables;
    const rows: { key: Uint8Array; rlp: Uint8Array | undefined }[] = [];
    for (const owner of clearedOwners) {
      for (const { key } of table.withPrefix(nodeKeyOf(owner, NO_PATH))) rows.push({ key, rlp: undefined });
    }
    for (const { owner, path, rlp } of nodes) rows.push({ key: nodeKeyOf(owner, path), rlp });
    rows.sort((a, b) => compareBytes(a.key, b.key)); // stable: the deletions of a cleared trie come before its new nodes
    const changed: Uint8Array[] = [];
    for (let i = 0; i < rows.length; i++) {
      const { key, rlp } = rows[i]!;
      const next = rows[i + 1];
      if (next !== undefined && equalBytes(key, next.key)) continue;
      const old = table.read(key);
      if (old === undefined ? rlp === undefined : rlp !== undefined && equalBytes(old, rlp)) continue;
      if (rlp === undefined) table.delete(key);
      else table.write(key, rlp);
      nodeHistory.write(historyKeyOf(key, number), encodeOldVersion(old, rlp, number, key));
      changed.push(key);
    }
    nodeChanges.write(blockNumberKey(number), encodeKeyList(changed));
  }

  /** Takes the changes of block `number`, the head, back. */
  unwind(number: number): void {
    const { nodes: table, nodeHistory, nodeChanges } = this.#tables;
    const list = nodeChanges.read(blockNumberKey(number));
    if (list === undefined) throw storageError("storage/unwind-too-deep", { number });
    for (const key of decodeKeyList(list)) {
      const historyKey = historyKeyOf(key, number);
      const old = nodeHistory.read(historyKey);
      if (old === undefined) throw storageError("storage/corrupted", { row: `node history ${bytesToHex(key)}`, reason: "missing" });
      if (old[0] === ABSENT) table.delete(key);
      else if (old[0] === WHOLE) table.write(key, old.subarray(1));
      else table.write(key, applyNodeDelta(old, 1, table.read(key) ?? NO_PATH));
      nodeHistory.delete(historyKey);
    }
    nodeChanges.delete(blockNumberKey(number));
  }

  /** Forgets the history of the oldest kept block, if it is at or below `number`; returns that block. */
  pruneOldest(number: number): number | undefined {
    const { nodeHistory, nodeChanges } = this.#tables;
    const oldest = nodeChanges.firstFrom(blockNumberKey(0));
    if (oldest === undefined) return undefined;
    const block = readBlockNumber(oldest.key, 0);
    if (block > number) return undefined;
    for (const key of decodeKeyList(oldest.value)) nodeHistory.delete(historyKeyOf(key, block));
    nodeChanges.delete(oldest.key);
    return block;
  }

  /** The lowest block whose node changes are kept: tries are readable from the block before it. */
  oldestChanges(): number | undefined {
    const oldest = this.#tables.nodeChanges.firstFrom(blockNumberKey(0));
    return oldest === undefined ? undefined : readBlockNumber(oldest.key, 0);
  }

  /** Every node of one trie by path, ascending. */
  *allNodes(owner: Uint8Array | undefined): Generator<{ path: Uint8Array; rlp: Uint8Array }> {
    const prefix = nodeKeyOf(owner, NO_PATH);
    for (const { key, value } of this.#tables.nodes.withPrefix(prefix)) yield { path: key.subarray(prefix.length), rlp: value };
  }
}

function historyKeyOf(key: Uint8Array, number: number): Uint8Array {
  const historyKey = new Uint8Array(key.length + 1 + BLOCK_NUMBER_SIZE);
  historyKey.set(key);
  historyKey[key.length] = PATH_END;
  writeBlockNumber(historyKey, key.length + 1, number);
  return historyKey;
}

function encodeOldVersion(old: Uint8Array | undefined, next: Uint8Array | undefined, number: number, key: Uint8Array): Uint8Array {
  if (old === undefined) return Uint8Array.of(ABSENT);
  if (next !== undefined && !isWholeTurn(number, key)) {
    const delta = encodeNodeDelta(old, next);
    if (delta.length <= old.length * MAX_DELTA_PART) return withKind(DELTA, delta);
  }
  return withKind(WHOLE, old);
}

function isWholeTurn(number: number, key: Uint8Array): boolean {
  let mix = number;
  for (let i = Math.max(0, key.length - 8); i < key.length; i++) mix = (mix * 31 + key[i]!) | 0;
  return Math.imul(mix, 0x9e3779b1) >>> 28 === 0; // four of 32 bits: one in sixteen
}

function withKind(kind: number, bytes: Uint8Array): Uint8Array {
  const value = new Uint8Array(1 + bytes.length);
  value[0] = kind;
  value.set(bytes, 1);
  return value;
}

/** @param keys ascending */
function encodeKeyList(keys: readonly Uint8Array[]): Uint8Array {
  let size = 0;
  for (const key of keys) size += 2 + key.length;
  const list = new Uint8Array(size);
  let at = 0;
  let before: Uint8Array = NO_PATH;
  for (const key of keys) {
    const limit = Math.min(before.length, key.length);
    let shared = 0;
    while (shared < limit && before[shared] === key[shared]) shared++;
    list[at++] = shared;
    list[at++] = key.length - shared;
    for (let i = shared; i < key.length; i++) list[at++] = key[i]!;
    before = key;
  }
  return list.slice(0, at);
}

function* decodeKeyList(list: Uint8Array): Generator<Uint8Array> {
  let key: Uint8Array = NO_PATH;
  for (let at = 0; at < list.length; ) {
    const shared = list[at]!;
    const further = list[at + 1]!;
    const next = new Uint8Array(shared + further);
    next.set(key.subarray(0, shared));
    next.set(list.subarray(at + 2, at + 2 + further), shared);
    at += 2 + further;
    key = next;
    yield key;
  }
}
