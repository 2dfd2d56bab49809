import { asciiToBytes } from "@rnode/primitives";
import type { BlockTableSet } from "./blocks/block-tables.ts";
import { MetaTable } from "./blocks/meta-table.ts";
import { Environment, type EnvironmentOptions } from "./database/environment.ts";
import { Table } from "./database/table.ts";
import { storageError } from "./errors.ts";
import type { NodeTableSet } from "./nodes/node-tables.ts";
import type { StateTableSet } from "./state/state-tables.ts";

/** Changes whenever the meaning of a table changes in a way that older programs would misread. */
export const FORMAT = 6;
/**
 * Bodies and receipts in this format are read, and rewritten little by little (`migrateRows`). Its old versions of trie nodes and its locations of
 * transactions, which are also those of format 3, and its lists of blocks by account and slot, which are also those of format 4, are read for as long as
 * they are kept. Up to format 4, all trie nodes of the head were in one table, where they are found until they change (nodes/merged-nodes.ts). Up to
 * format 5, all of them were in tables by themselves, without a journal (nodes/node-journal.ts).
 */
const FORMAT_WITH_OLD_ROWS = 2;

const TABLE_NAMES = [
  "meta",
  "headers",
  "bodies",
  "receipts",
  "senders",
  "canonical",
  "numbers",
  "transactions",
  "totalDifficulty",
  "accounts",
  "storage",
  "changes",
  "accountBlocks",
  "slotBlocks",
  "accountHistory",
  "storageHistory",
  "codes",
  "nodes",
  "upperNodes",
  "nodeJournal",
  "nodeHistory",
  "nodeEpochs",
  "logs",
] as const;

export interface Tables extends BlockTableSet, StateTableSet, Record<keyof NodeTableSet, Table> {
  readonly meta: Table;
  readonly logs: Table;
}

const FORMAT_KEY = asciiToBytes("format");
/** Distinguishes our databases from others: the format row starts with it. */
const FORMAT_MARK = asciiToBytes("rnode");

export interface OpenedTables {
  readonly environment: Environment;
  readonly tables: Tables;
  /** what the database has from now on: a writer makes it today's, a reader leaves it as it is */
  readonly format: number;
}

/**
 * Opens the database in the folder, and creates it if it does not exist.
 *
 * @throws {CodedError} storage/locked, storage/no-database, storage/foreign-database, storage/newer-format, storage/older-format,
 * storage/corrupted, storage/io
 */
export function openTables(folder: string, options: EnvironmentOptions): OpenedTables {
  const environment = new Environment(folder, options);
  try {
    const names = environment.tableNames();
    const isNew = names.length === 0 && !options.readOnly;
    if (!isNew && !names.includes("meta")) throw storageError("storage/foreign-database", { folder });
    const meta = environment.openTable("meta");
    if (meta === undefined) throw storageError("storage/foreign-database", { folder });
    const row = meta.read(FORMAT_KEY);
    // The table exists without the row: the process was killed between the two, before anything else was written.
    if (row === undefined && names.length > 1) throw storageError("storage/foreign-database", { folder });
    if (row !== undefined) assertFormat(folder, row);
    if (row === undefined && options.readOnly) throw storageError("storage/no-database", { folder });
    const opened: Record<string, Table> = {};
    const format = row?.[FORMAT_MARK.length];
    const openAll = (): void => {
      if (format !== FORMAT && !options.readOnly) meta.write(FORMAT_KEY, Uint8Array.of(...FORMAT_MARK, FORMAT));
      if (format === FORMAT_WITH_OLD_ROWS && !options.readOnly) new MetaTable(meta).writeOldRows(0);
      for (const name of TABLE_NAMES) {
        // Only a reader finds one missing: the format is written together with the tables of its time, and a reader does not add those that came later.
        opened[name] = environment.openTable(name) ?? Table.empty(folder);
      }
    };
    if (options.readOnly) openAll();
    else environment.atomically(openAll); // one commit, rather than one per table
    const tables = opened as Record<(typeof TABLE_NAMES)[number], Table>;
    return { environment, tables, format: options.readOnly ? format! : FORMAT };
  } catch (error) {
    environment.abandon();
    throw error;
  }
}

function assertFormat(folder: string, row: Uint8Array): void {
  const isOurs = row.length === FORMAT_MARK.length + 1 && FORMAT_MARK.every((byte, i) => row[i] === byte);
  if (!isOurs) throw storageError("storage/foreign-database", { folder });
  const format = row[FORMAT_MARK.length]!;
  if (format > FORMAT) throw storageError("storage/newer-format", { folder, format, supported: FORMAT });
  if (format < FORMAT_WITH_OLD_ROWS) throw storageError("storage/older-format", { folder, format, supported: FORMAT });
}
