import { closeSync, fsyncSync, openSync, writeSync } from "node:fs";
import { openForOthers } from "@rnode/program";
import { fileWriter, ParquetWriter, schemaFromColumnData } from "hyparquet-writer";
import { COLUMNS, rowToJson, type Table, type Value } from "./columns.ts";

export const FORMATS = ["parquet", "ndjson"] as const;
export type Format = (typeof FORMATS)[number];

/** A file of rows of one table. At most a few times the size of a row group is in memory. */
export interface TableFile {
  add(row: readonly Value[]): void;
  /** The rows are on the disk when it returns. */
  finish(): void;
}

export const newTableFile = (format: Format, path: string, table: Table): TableFile =>
  format === "parquet" ? new ParquetFile(path, table) : new NdjsonFile(path, table);

const WRITE_BYTES = 1 << 20;

/** A JSON object a line. */
class NdjsonFile implements TableFile {
  readonly #descriptor: number;
  readonly #table: Table;
  #lines = "";

  constructor(path: string, table: Table) {
    this.#descriptor = openForOthers(path);
    this.#table = table;
  }

  add(row: readonly Value[]): void {
    this.#lines += `${rowToJson(this.#table, row)}\n`;
    if (this.#lines.length >= WRITE_BYTES) this.#write();
  }

  finish(): void {
    this.#write();
    fsyncSync(this.#descriptor);
    closeSync(this.#descriptor);
  }

  #write(): void {
    const bytes = Buffer.from(this.#lines, "latin1"); // all values are ASCII
    for (let done = 0; done < bytes.length; ) done += writeSync(this.#descriptor, bytes, done);
    this.#lines = "";
  }
}

const ROW_GROUP_BYTES = 16 << 20;
const PARQUET_TYPES = { int: "INT64", wei: "STRING", text: "STRING", json: "STRING", bool: "BOOLEAN" } as const;

class ParquetFile implements TableFile {
  readonly #path: string;
  readonly #columns: { readonly name: string; readonly type: "INT64" | "STRING" | "BOOLEAN"; readonly data: Value[] }[];
  readonly #writer: ParquetWriter;
  #bytes = 0;

  constructor(path: string, table: Table) {
    closeSync(openForOthers(path)); // the writer keeps the mode
    this.#path = path;
    this.#columns = COLUMNS[table].map(({ name, type }) => ({ name, type: PARQUET_TYPES[type], data: [] }));
    this.#writer = new ParquetWriter({
      writer: fileWriter(path),
      schema: schemaFromColumnData({ columnData: this.#columns }),
      createdBy: "rnode",
    });
  }

  add(row: readonly Value[]): void {
    for (const [index, value] of row.entries()) {
      this.#columns[index]!.data.push(value);
      this.#bytes += typeof value === "string" ? value.length : 8;
    }
    if (this.#bytes >= ROW_GROUP_BYTES) this.#writeGroup();
  }

  finish(): void {
    this.#writeGroup();
    void this.#writer.finish(); // a file's writer is synchronous
    const descriptor = openSync(this.#path, "r+");
    fsyncSync(descriptor);
    closeSync(descriptor);
  }

  #writeGroup(): void {
    const rows = this.#columns[0]!.data.length;
    if (rows === 0) return;
    void this.#writer.write({ columnData: this.#columns, rowGroupSize: rows });
    for (const { data } of this.#columns) data.length = 0;
    this.#bytes = 0;
  }
}
