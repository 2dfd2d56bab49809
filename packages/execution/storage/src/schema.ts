import { asciiToBytes } from "@rnode/primitives";
import type { BlockTableSet } from "./blocks/block-tables.ts";
import { Environment, type EnvironmentOptions } from "./database/environment.ts";
import type { Table } from "./database/table.ts";
import { storageError } from "./errors.ts";
import type { NodeTableSet } from "./nodes/node-tables.ts";
import type { StateTableSet } from "./state/state-tables.ts";

/** The only format that is read and written. It changes whenever the meaning of a table changes. */
export const FORMAT = 8;
/** What the rows of a table are counted by. */
export const GROWTH_UNITS = ["block", "transaction", "account", "slot"] as const;
export type GrowthUnit = (typeof GROWTH_UNITS)[number];

interface TableFacts {
  /** empty: the number of rows follows none of the units */
  readonly growsWith: readonly GrowthUnit[];
  /** the table has old versions of the state, or parts of blocks that only requests read; pruning removes the rows of old blocks */
  readonly history?: "state" | "blocks";
}

const facts = <N extends string>(tables: Readonly<Record<N, TableFacts>>): Readonly<Record<N, TableFacts>> => tables;

/** All tables. */
export const TABLES = facts({
  meta: { growsWith: [] },
  headers: { growsWith: ["block"] },
  bodies: { growsWith: ["block", "transaction"] },
  receipts: { growsWith: ["block", "transaction"], history: "blocks" },
  senders: { growsWith: ["block", "transaction"], history: "blocks" },
  canonical: { growsWith: ["block"] },
  numbers: { growsWith: ["block"] },
  transactions: { growsWith: ["block", "transaction"], history: "blocks" },
  totalDifficulty: { growsWith: ["block"] },
  accounts: { growsWith: ["account"] },
  storage: { growsWith: ["slot"] },
  changes: { growsWith: ["block", "transaction"], history: "state" },
  accountBlocks: { growsWith: ["block", "transaction"], history: "state" },
  slotBlocks: { growsWith: ["block", "transaction"], history: "state" },
  codes: { growsWith: [] },
  preimages: { growsWith: [] },
  nodes: { growsWith: [] },
  upperNodes: { growsWith: [] },
  nodeJournal: { growsWith: [] },
  nodeHistory: { growsWith: ["block", "transaction"], history: "state" },
  nodeEpochs: { growsWith: ["block", "transaction"], history: "state" },
  logs: { growsWith: ["block", "transaction"], history: "blocks" },
});

export type TableName = keyof typeof TABLES;

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
      for (const name of Object.keys(TABLES)) {
        // The tables were made in the commit that wrote the format.
        const table = environment.openTable(name);
        if (table === undefined) throw storageError("storage/corrupted", { folder, reason: `table ${name} is missing` });
        opened[name] = table;
      }
    };
    if (options.readOnly) openAll();
    else environment.atomically(openAll); // one commit, rather than one per table
    return { environment, tables: opened as Record<TableName, Table> };
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
