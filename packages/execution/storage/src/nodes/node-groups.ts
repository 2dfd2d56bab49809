import type { NodeGroups } from "../api.ts";
import { readUint32, writeUint32 } from "../database/keys.ts";
import type { RowTable, Table } from "../database/table.ts";
import type { LeafReader } from "./leaf-reader.ts";
import { type NodeTableSet, NodeTables } from "./node-tables.ts";

/*
 * The rows that a group of blocks adds to the tables of trie nodes. They are made outside the process's writer: in another thread, or before
 * the transaction begins. Rows, one after the other:
 *   table 1 (0 nodes, 1 nodeHistory, 2 nodeEpochs, 3 upperNodes) ‖ bytes of the key 1 ‖ bytes of the value 4 (all ones: delete the row) ‖ key ‖ value
 */

const HEADER_SIZE = 6;
const DELETED = 0xffff_ffff;
const TABLES = ["nodes", "nodeHistory", "nodeEpochs", "upperNodes"] as const satisfies readonly (keyof NodeTableSet)[];

class RowBuffer {
  #bytes = new Uint8Array(1 << 20);
  #size = 0;

  add(table: number, key: Uint8Array, value: Uint8Array | undefined): void {
    const needed = this.#size + HEADER_SIZE + key.length + (value?.length ?? 0);
    if (needed > this.#bytes.length) {
      const larger = new Uint8Array(Math.max(needed, 2 * this.#bytes.length));
      larger.set(this.#bytes.subarray(0, this.#size));
      this.#bytes = larger;
    }
    const bytes = this.#bytes;
    let at = this.#size;
    bytes[at] = table;
    bytes[at + 1] = key.length;
    writeUint32(bytes, at + 2, value?.length ?? DELETED);
    at += HEADER_SIZE;
    bytes.set(key, at);
    if (value !== undefined) bytes.set(value, at + key.length);
    this.#size = needed;
  }

  take(): Uint8Array<ArrayBuffer> {
    const taken = this.#bytes.slice(0, this.#size);
    this.#size = 0;
    return taken;
  }
}

/** Reads from the database and writes into a buffer. Written rows cannot be read before they are committed. */
function recording(table: Table, index: number, rows: RowBuffer): RowTable {
  return {
    read: (key) => table.read(key),
    peek: (key) => table.peek(key),
    lastUpTo: (key) => table.lastUpTo(key),
    range: (start, end) => table.range(start, end),
    keysWithPrefix: (prefix) => table.keysWithPrefix(prefix),
    write: (key, value) => rows.add(index, key, value),
    delete(key) {
      rows.add(index, key, undefined);
      return true;
    },
  };
}

/** @param headNumber number of the last committed block */
export function createNodeGroups(
  tables: Record<(typeof TABLES)[number] | "nodeJournal", Table>,
  leaves: LeafReader,
  headNumber: number,
  refresh: () => void,
): NodeGroups {
  const rows = new RowBuffer();
  const nodes = new NodeTables(
    {
      nodes: recording(tables.nodes, 0, rows),
      nodeHistory: recording(tables.nodeHistory, 1, rows),
      nodeEpochs: recording(tables.nodeEpochs, 2, rows),
      upperNodes: recording(tables.upperNodes, 3, rows),
      nodeJournal: tables.nodeJournal,
    },
    false,
    leaves,
  );
  nodes.resume(headNumber);
  return {
    reader: { readNode: (owner, path, _hash, key) => nodes.readNode(owner, path, key) },
    add: (number, changes, clearedOwners, isRun) => nodes.add({ number, nodes: changes, clearedOwners, isRun }),
    seal() {
      nodes.flush();
      return rows.take();
    },
    committed: refresh,
  };
}

export function writeNodeRows(tables: Record<(typeof TABLES)[number], Table>, rows: Uint8Array): void {
  const byIndex = TABLES.map((name) => tables[name]);
  for (let at = 0; at < rows.length; ) {
    const table = byIndex[rows[at]!]!;
    const keyAt = at + HEADER_SIZE;
    const valueAt = keyAt + rows[at + 1]!;
    const size = readUint32(rows, at + 2);
    const key = rows.subarray(keyAt, valueAt);
    if (size === DELETED) {
      table.delete(key);
      at = valueAt;
    } else {
      at = valueAt + size;
      table.write(key, rows, size, valueAt);
    }
  }
}
