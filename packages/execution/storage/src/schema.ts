import { asciiToBytes } from "@rnode/primitives";
import type { BlockTableSet } from "./blocks/block-tables.ts";
import { Environment, type EnvironmentOptions } from "./database/environment.ts";
import type { Table } from "./database/table.ts";
import { storageError } from "./errors.ts";
import type { NodeTableSet } from "./nodes/node-tables.ts";
import type { StateTableSet } from "./state/state-tables.ts";

/** The only format that is read and written. It changes whenever the meaning of a table changes. */
export const FORMAT = 6;
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
/** Distinguishes rnode's databases from others: the format row starts with it. */
const FORMAT_MARK = asciiToBytes("rnode");

export interface OpenedTables {
  readonly environment: Environment;
  readonly tables: Tables;
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
    const openAll = (): void => {
      if (row === undefined) meta.write(FORMAT_KEY, Uint8Array.of(...FORMAT_MARK, FORMAT));
      for (const name of TABLE_NAMES) {
        // The tables were made in the commit that wrote the format.
        const table = environment.openTable(name);
        if (table === undefined) throw storageError("storage/corrupted", { folder, reason: `table ${name} is missing` });
        opened[name] = table;
      }
    };
    if (options.readOnly) openAll();
    else environment.atomically(openAll); // one commit, rather than one per table
    return { environment, tables: opened as Record<(typeof TABLE_NAMES)[number], Table> };
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
  if (format < FORMAT) throw storageError("storage/older-format", { folder, format, supported: FORMAT });
}
