import { bytesToHex, concatBytes, encodeRlp, type Hex, hexToBytes } from "@rnode/primitives";
import { encodeTransaction, headerToRlp, withdrawalToRlp } from "@rnode/protocol";
import { encodeReceiptsRow } from "../blocks/block-rows.ts";
import { BlockTables } from "../blocks/block-tables.ts";
import { MetaTable } from "../blocks/meta-table.ts";
import { BlockListIndex } from "../database/block-list-index.ts";
import { BLOCK_NUMBER_SIZE, blockNumberKey, writeBlockNumber, writeUint32 } from "../database/keys.ts";
import { deleteWithPrefix, type Table } from "../database/table.ts";
import { openChainStore } from "../lmdb-chain-store.ts";
import { CurrentNodes } from "../nodes/current-nodes.ts";
import { encodeNodeDelta } from "../nodes/node-delta.ts";
import { epochOf } from "../nodes/node-epochs.ts";
import { nodeVersionsOf } from "../nodes/node-history.ts";
import type { NodeTableSet } from "../nodes/node-tables.ts";
import { oldFingerprint } from "../nodes/old-epochs.ts";
import { OldNodeReader } from "../nodes/old-nodes.ts";
import { openTables, type Tables } from "../schema.ts";
import { accountValueEnd } from "../state/account-value.ts";
import { ChangeListPart } from "../state/change-list.ts";
import { slotValueAt, slotValueEnd } from "../state/slot-value.ts";
import { openRawTables } from "./raw-tables.ts";

const WRITER = { readOnly: false, mapSizeBytes: undefined, sync: "each", syncIntervalMs: 1000 } as const;

/** Turns a database into one of format 2: rows of bodies and receipts as they were written then, and what format 4 had otherwise than today. */
export async function writeOldFormat(folder: string): Promise<void> {
  await writeFormat4(folder);
  const store = openChainStore(folder, { readOnly: true });
  const rows: { key: Uint8Array; body: Uint8Array; receipts: Uint8Array | undefined }[] = [];
  const head = store.head()!.number;
  for (let number = store.retainedHistory()!.firstBlock; number <= head; number++) {
    const hash = store.readCanonicalHash(number)!;
    const { transactions, ommers, withdrawals } = store.readBlock(hash)!;
    const body = encodeRlp([
      transactions.map(encodeTransaction),
      ommers.map(headerToRlp),
      ...(withdrawals === undefined ? [] : [withdrawals.map(withdrawalToRlp)]),
    ]);
    const receipts = store.readReceipts(hash);
    rows.push({ key: blockNumberKey(number), body, receipts: receipts && encodeReceiptsRow(receipts).slice() });
  }
  await store.close();
  const { root, table } = openRawTables(folder);
  const [meta, bodies, receiptsTable] = [table("meta"), table("bodies"), table("receipts")];
  for (const { key, body, receipts } of rows) {
    bodies.putSync(key, body);
    if (receipts !== undefined) receiptsTable.putSync(key, receipts);
  }
  meta.putSync(Buffer.from("format"), Buffer.from("rnode\u0002"));
  meta.removeSync(Buffer.from("old-rows"));
  await root.close();
}

/** Turns a database into one of format 5: trie nodes of the head are all in their tables. */
export async function writeFormat5(folder: string): Promise<void> {
  const { environment, tables } = openTables(folder, WRITER);
  environment.atomically(() => new CurrentNodes(tables, true).settle());
  await environment.close();
  const { root, table } = openRawTables(folder);
  table("nodeJournal").dropSync();
  table("meta").putSync(Buffer.from("format"), Buffer.from("rnode\u0005"));
  await root.close();
}

/** Turns a database into one of format 4: lists of the blocks that changed accounts and slots, and trie nodes in one table, as they were written then. */
export async function writeFormat4(folder: string): Promise<void> {
  await writeFormat5(folder);
  const { environment, tables } = openTables(folder, WRITER);
  environment.atomically(() => {
    const { accounts, storage, accountBlocks, slotBlocks, accountHistory, storageHistory } = tables;
    writeOldLists({ rows: accounts, lists: accountBlocks, old: accountHistory }, () => 0, accountValueEnd);
    writeOldLists({ rows: storage, lists: slotBlocks, old: storageHistory }, slotValueAt, slotValueEnd);
    for (const { key, value } of tables.upperNodes.range(Uint8Array.of(0))) tables.nodes.write(key, value);
  });
  await environment.close();
  const { root, table } = openRawTables(folder);
  for (const name of ["accountBlocks", "slotBlocks", "upperNodes", "nodeJournal"] satisfies (keyof Tables)[])
    table(name).dropSync();
  table("meta").putSync(Buffer.from("format"), Buffer.from("rnode\u0004"));
  await root.close();
}

function writeOldLists(
  { rows, lists, old }: Readonly<Record<"rows" | "lists" | "old", Table>>,
  valueAt: (row: Uint8Array) => number,
  valueEnd: (row: Uint8Array) => number,
): void {
  const part = new ChangeListPart();
  const numbersOf = new Map<Hex, number[]>();
  const add = (key: Uint8Array, row: Uint8Array, at: number): void => {
    part.read(row, at, row.length);
    const keyHex = bytesToHex(key);
    numbersOf.set(keyHex, [...(numbersOf.get(keyHex) ?? []), ...part.numbers.subarray(0, part.count)]);
  };
  for (const { key, value } of lists.range(Uint8Array.of(0))) add(key.subarray(0, key.length - BLOCK_NUMBER_SIZE), value, 0);
  for (const { key, value } of [...rows.range(Uint8Array.of(0))]) {
    add(key, value, valueEnd(value));
    rows.write(key, value.slice(valueAt(value), valueEnd(value)));
  }
  lists.clear();
  const index = new BlockListIndex(old);
  for (const [key, numbers] of numbersOf) index.appendAll(hexToBytes(key), numbers);
}

/** Turns a database into one of format 3: what history it has of trie nodes, and where it has transactions, as they were written then. */
export async function writeFormat3(folder: string): Promise<void> {
  const { environment, tables } = openTables(folder, WRITER);
  const meta = new MetaTable(tables.meta);
  const head = meta.readHead()!.number;
  const blocks = new BlockTables(tables, folder);
  environment.atomically(() => {
    writeOldNodes(tables, (meta.readPrunedNodes() ?? 0) + 1, head, head);
    for (let number = meta.readPrunedHistory().floor; number <= head; number++) {
      for (const [index, hash] of (blocks.transactionHashes(number) ?? []).entries()) {
        const place = blocks.transactionLocation(hash);
        if (place?.blockNumber !== number) continue;
        blocks.removeTransactionLocation(hash, number, index);
        const row = new Uint8Array(BLOCK_NUMBER_SIZE + 4);
        writeBlockNumber(row, 0, number);
        writeUint32(row, BLOCK_NUMBER_SIZE, index);
        tables.transactions.write(hash, row);
      }
    }
  });
  await environment.close();
  await writeFormat4(folder);
  const { root, table } = openRawTables(folder);
  table("meta").putSync(Buffer.from("format"), Buffer.from("rnode\u0003"));
  await root.close();
}

/** Rewrites the history of trie nodes of blocks, and of epochs that end with them, as format 3 had it. To be called in a transaction. */
export function writeOldNodes(tables: NodeTableSet, from: number, to: number, head: number): void {
  const reader = new OldNodeReader({ ...tables, nodes: new CurrentNodes(tables, true) });
  const history: { key: Uint8Array; row: Uint8Array }[] = [];
  const epochs = new Map<number, Map<string, number>>();
  for (let number = from; number <= to; number++) {
    const entries: Uint8Array[] = [];
    let rowKey: Uint8Array | undefined;
    let last = new Uint8Array(0);
    for (const { key } of nodeVersionsOf(tables.nodeHistory, number)) {
      const version = oldVersion(reader.read(number - 1, head, key), reader.read(number, head, key));
      rowKey ??= concatBytes(blockNumberKey(number), key);
      let shared = 0;
      while (shared < last.length && last[shared] === key[shared]) shared++;
      const [rest, size] = [key.subarray(shared), version.length];
      entries.push(Uint8Array.of(shared, rest.length), rest, Uint8Array.of(size >> 8, size), version);
      last = key.slice();
      const { bucket, hash } = oldFingerprint(key);
      const epoch = epochs.get(epochOf(number)) ?? new Map<string, number>();
      epochs.set(epochOf(number), epoch);
      const place = `${bucket} ${hash}`;
      epoch.set(place, (epoch.get(place) ?? 0) | (1 << (number - epochOf(number))));
    }
    if (rowKey !== undefined) history.push({ key: rowKey, row: concatBytes(...entries) });
  }
  for (let number = from; number <= to; number++) deleteWithPrefix(tables.nodeHistory, blockNumberKey(number), 1e9);
  for (const { key, row } of history) tables.nodeHistory.write(key, row);
  for (const [first, epoch] of epochs) {
    if (first + 31 > to || deleteWithPrefix(tables.nodeEpochs, blockNumberKey(first), 1e9) === 0) continue;
    const rows = new Map<number, { hash: number; bits: number }[]>();
    for (const [place, bits] of epoch) {
      const [bucket, hash] = place.split(" ").map(Number);
      rows.set(bucket!, [...(rows.get(bucket!) ?? []), { hash: hash!, bits }]);
    }
    for (const [bucket, entries] of rows) {
      const row = new Uint8Array(8 * entries.length);
      for (const [i, { hash, bits }] of entries.sort((a, b) => a.hash - b.hash).entries()) {
        writeUint32(row, 8 * i, hash);
        writeUint32(row, 8 * i + 4, bits);
      }
      tables.nodeEpochs.write(concatBytes(blockNumberKey(first), Uint8Array.of(bucket)), row);
    }
  }
}

function oldVersion(old: Uint8Array | undefined, next: Uint8Array | undefined): Uint8Array {
  if (old === undefined) return Uint8Array.of(0);
  const delta = next && encodeNodeDelta(old, next, 1, old.length);
  return delta === undefined ? concatBytes(Uint8Array.of(1), old) : concatBytes(Uint8Array.of(2), delta.subarray(1));
}
