import { compareBytes, concatBytes, isCodedError } from "@rnode/primitives";
import type { SnapshotRows, StateWrite, StoredAccount } from "../api.ts";
import { MetaTable } from "../blocks/meta-table.ts";
import { isLeafNode } from "../nodes/leaf-reader.ts";
import { isApart } from "../nodes/merged-nodes.ts";
import { nodeKeyOf } from "../nodes/node-key.ts";
import { hashedChildren } from "../nodes/node-shape.ts";
import type { Tables } from "../schema.ts";
import { encodeAccountValue } from "../state/account-value.ts";

/** The approximate maximum size of one commit, whose pages are in memory until it ends. */
const COMMIT_BYTES = 4 << 20;

type StateTable = "codes" | "accounts" | "storage" | "nodes" | "upperNodes" | "preimages";

/**
 * Writes the state of a genesis or of a snapshot into an empty database, in as many commits as necessary. Rows of an earlier
 * attempt are removed first, unless this one continues it. Yields after each commit but the last.
 *
 * @param writeBlock writes a block's rows within the current commit, and returns their size in bytes
 * @param finish runs inside the last commit
 * @returns whether rows of an earlier attempt were removed
 */
export function* writeGenesisState(
  tables: Tables,
  writesPreimages: boolean,
  atomically: <T>(action: () => T) => T,
  write: StateWrite<SnapshotRows>,
  writeBlock: (content: SnapshotBlock) => number,
  finish: () => void,
): Generator<void, boolean> {
  const meta = new MetaTable(tables.meta);
  const run = typeof write === "function" ? { id: NO_ID, steps: write, progress: () => undefined } : write;
  const progress = meta.readUnfinished(run.id);
  const startsAnew = progress === undefined && removeRows(tables, atomically);
  const rows = new StateRows(tables, writesPreimages, writeBlock);
  const steps = run.steps(rows, progress)[Symbol.iterator]();
  const commit = (): boolean => {
    let isDone = false;
    while (!isDone && rows.bytes < COMMIT_BYTES) isDone = steps.next().done === true;
    rows.flush();
    meta.writeUnfinished(run.id, isDone ? undefined : run.progress());
    if (isDone) finish();
    return isDone;
  };
  try {
    while (!atomically(commit)) yield;
  } catch (error) {
    // What a run has written stays for another attempt only if the rows themselves are good.
    if (typeof write !== "function" && !isCodedError(error, "storage/")) {
      removeRows(tables, atomically);
      atomically(() => meta.writeUnfinished(run.id, undefined));
    }
    throw error;
  }
  return startsAnew;
}

/** Rows that are not written by a `StateRun` are never continued. */
const NO_ID = new Uint8Array(32);

/** @returns whether there were any */
function removeRows(tables: Tables, atomically: <T>(action: () => T) => T): boolean {
  const used = Object.values(tables).filter((table) => table !== tables.meta && table.stats().entries > 0);
  if (used.length === 0) return false;
  atomically(() => {
    for (const table of used) table.clear();
  });
  return true;
}

type SnapshotBlock = Parameters<SnapshotRows["block"]>[0];

/** Tables of the state, and whether their rows grow with later changes, or get rows at random keys. */
const IS_GROWING: Readonly<Record<StateTable, boolean>> = {
  codes: false,
  accounts: true,
  storage: true,
  nodes: true,
  upperNodes: false,
  preimages: false,
};
/** A page of LMDB, and a row's overhead besides its key and its value */
const PAGE_BYTES = 4080;
const ROW_BYTES = 10;
/** Above the keys of all rows of these tables */
const LAST_KEY = new Uint8Array(100).fill(0xff);
/** Left free in each page: the first change of a row would otherwise split its page in two half-empty ones. */
const ROOM = new Uint8Array(400);

/** The end of a table. */
interface TableEnd {
  /** `undefined`: not known yet, or there is none */
  lastKey: Uint8Array | undefined;
  /** of the last page, as far as they are known */
  bytes: number;
  /** of the row that keeps room in it */
  roomKey: Uint8Array | undefined;
}

class StateRows implements SnapshotRows {
  readonly #tables: Tables;
  readonly #writesPreimages: boolean;
  readonly #ends = new Map<StateTable, TableEnd>();
  readonly #writeBlock: (content: SnapshotBlock) => number;
  readonly #nodes = new NodeBatch();
  /** approximate size of the current commit */
  bytes = 0;

  constructor(tables: Tables, writesPreimages: boolean, writeBlock: (content: SnapshotBlock) => number) {
    this.#tables = tables;
    this.#writesPreimages = writesPreimages;
    this.#writeBlock = writeBlock;
  }

  block(content: SnapshotBlock): void {
    this.bytes += this.#writeBlock(content);
  }

  code(codeHash: Uint8Array, code: Uint8Array): void {
    this.#write("codes", codeHash, code);
  }

  account(hash: Uint8Array, account: StoredAccount): void {
    this.#write("accounts", hash, encodeAccountValue(account));
  }

  slot(owner: Uint8Array, hash: Uint8Array, value: Uint8Array): void {
    this.#write("storage", concatBytes(owner, hash), value);
  }

  preimage(hash: Uint8Array, key: Uint8Array): void {
    if (this.#writesPreimages) this.#write("preimages", hash, key);
  }

  node(owner: Uint8Array | undefined, path: Uint8Array, rlp: Uint8Array): void {
    if (isLeafNode(rlp)) return;
    const key = nodeKeyOf(owner, path);
    this.#nodes.add(key, rlp);
    this.bytes += key.length + rlp.length;
  }

  flush(): void {
    this.#nodes.takeSorted((key, value) => this.#write(isApart(key, value.length) ? "upperNodes" : "nodes", key, value));
    for (const [name, end] of this.#ends) this.#freeRoom(name, end);
    this.bytes = 0;
  }

  /** PERF: rows appended at the end of a table fill its pages. */
  #write(name: StateTable, key: Uint8Array, value: Uint8Array): void {
    this.bytes += key.length + value.length;
    const end = this.#endOf(name);
    if (end.lastKey !== undefined && compareBytes(key, end.lastKey) <= 0) {
      this.#tables[name].write(key, value);
      return;
    }
    this.#tables[name].append(key, value);
    end.lastKey = key;
    if (IS_GROWING[name]) this.#leaveRoom(name, end, key, value);
  }

  #endOf(name: StateTable): TableEnd {
    let end = this.#ends.get(name);
    if (end === undefined) {
      end = { lastKey: this.#tables[name].lastUpTo(LAST_KEY)?.key, bytes: 0, roomKey: undefined };
      this.#ends.set(name, end);
    }
    return end;
  }

  /** In the midst of each page a row takes the room's place until the page is full. */
  #leaveRoom(name: StateTable, page: TableEnd, key: Uint8Array, value: Uint8Array): void {
    page.bytes += key.length + value.length + ROW_BYTES;
    if (page.bytes < PAGE_BYTES / 2) return;
    if (page.roomKey === undefined) {
      // The room's key is the next one after the row's, which the first node below it may have.
      if (name === "nodes" && hashedChildren(value)[0]?.[0] === 0) return;
      page.roomKey = new Uint8Array(key.length + 1);
      page.roomKey.set(key);
      this.#tables[name].append(page.roomKey, ROOM);
      page.lastKey = page.roomKey;
      page.bytes += page.roomKey.length + ROOM.length + ROW_BYTES;
    } else if (page.bytes >= PAGE_BYTES) this.#freeRoom(name, page);
  }

  #freeRoom(name: StateTable, page: TableEnd): void {
    if (page.roomKey !== undefined) this.#tables[name].delete(page.roomKey);
    page.bytes = 0;
    page.roomKey = undefined;
  }
}

/**
 * The nodes of a commit. A trie delivers a node after the nodes below it, whose keys are greater. PERF: one buffer instead of two
 * arrays per node.
 */
class NodeBatch {
  #buffer = new Uint8Array(1 << 16);
  #used = 0;
  /** for each node: start of the key, end of the key, end of the value */
  #places: number[] = [];

  add(key: Uint8Array, value: Uint8Array): void {
    const keyEnd = this.#used + key.length;
    const end = keyEnd + value.length;
    if (end > this.#buffer.length) {
      const larger = new Uint8Array(Math.max(end, 2 * this.#buffer.length));
      larger.set(this.#buffer.subarray(0, this.#used));
      this.#buffer = larger;
    }
    this.#buffer.set(key, this.#used);
    this.#buffer.set(value, keyEnd);
    this.#places.push(this.#used, keyEnd, end);
    this.#used = end;
  }

  /** Passes copies of the keys and views of the values in key order to `take`, and clears them. */
  takeSorted(take: (key: Uint8Array, value: Uint8Array) => void): void {
    const buffer = this.#buffer;
    const places = this.#places;
    const order = Uint32Array.from({ length: places.length / 3 }, (_, index) => 3 * index);
    order.sort((a, b) => {
      let left = places[a]!;
      let right = places[b]!;
      const leftEnd = places[a + 1]!;
      const rightEnd = places[b + 1]!;
      while (left < leftEnd && right < rightEnd) {
        const difference = buffer[left++]! - buffer[right++]!;
        if (difference !== 0) return difference;
      }
      return leftEnd - left - (rightEnd - right);
    });
    for (const place of order) {
      take(buffer.slice(places[place], places[place + 1]), buffer.subarray(places[place + 1], places[place + 2]));
    }
    this.#places = [];
    this.#used = 0;
  }
}
