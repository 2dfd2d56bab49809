import {
  closeSync,
  existsSync,
  fstatSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import type { Hex } from "@rnode/primitives";
import { openForOthers, UserError } from "@rnode/program";
import { TABLES, type Table } from "./columns.ts";
import type { Format } from "./table-file.ts";

/** What all files of a folder have in common: the first line of its manifest. */
export interface ExportSubject {
  readonly chain_id: number;
  readonly genesis_hash: Hex;
  readonly format: Format;
  readonly tables: readonly Table[];
}

/** Blocks whose files are complete: one line of the manifest. */
export interface ExportedRange {
  readonly from: number;
  readonly to: number;
  /** parent of the first block */
  readonly parent_hash: Hex;
  /** of the last block */
  readonly hash: Hex;
}

const MANIFEST = "manifest.ndjson";
const PARTIAL = ".partial";
const padded = (number: number): string => String(number).padStart(9, "0");

/**
 * A folder with a folder of files for each table, and a manifest, which a line is added to when the files of some blocks are on the disk. Files
 * that no line names are left over from a killed run, and removed.
 */
export class ExportFolder {
  readonly #folder: string;
  readonly #subject: ExportSubject;
  readonly #ranges: ExportedRange[];
  #manifestBytes: number;

  /** @throws {UserError} the folder has an export of something else */
  constructor(folder: string, subject: ExportSubject) {
    this.#folder = folder;
    this.#subject = subject;
    mkdirSync(folder, { recursive: true });
    const lines = this.#readManifest();
    this.#ranges = lines.slice(1).map((line) => JSON.parse(line) as ExportedRange);
    this.#manifestBytes = lines.reduce((sum, line) => sum + line.length + 1, 0);
    this.#checkSubject(lines[0]);
    for (const table of subject.tables) mkdirSync(join(folder, table), { recursive: true });
    this.#removeOthers();
  }

  get ranges(): readonly ExportedRange[] {
    return this.#ranges;
  }

  /** Where to write the rows of a table before `add`. */
  partialPath(table: Table, from: number, to: number): string {
    return `${this.#path(table, from, to)}${PARTIAL}`;
  }

  /** Publishes files that were finished under their partial names. */
  add(range: ExportedRange): void {
    for (const table of this.#subject.tables) {
      renameSync(this.partialPath(table, range.from, range.to), this.#path(table, range.from, range.to));
      syncFolder(join(this.#folder, table));
    }
    this.#append(range);
    this.#ranges.push(range);
  }

  /** Removes the files of all ranges but the first `count`. */
  keep(count: number): void {
    const removed = this.#ranges.splice(count).map((range) => JSON.stringify(range).length + 1);
    this.#manifestBytes -= removed.reduce((sum, bytes) => sum + bytes, 0);
    truncateSync(join(this.#folder, MANIFEST), this.#manifestBytes);
    this.#removeOthers();
  }

  #path(table: Table, from: number, to: number): string {
    return join(this.#folder, table, `${table}_${padded(from)}_${padded(to)}.${this.#subject.format}`);
  }

  /** Its complete lines: a kill may have cut the last one. */
  #readManifest(): string[] {
    const path = join(this.#folder, MANIFEST);
    if (!existsSync(path)) return [];
    const text = readFileSync(path, "latin1");
    const end = text.lastIndexOf("\n") + 1;
    if (end < text.length) truncateSync(path, end);
    return text.slice(0, end).split("\n").slice(0, -1);
  }

  #checkSubject(found: string | undefined): void {
    const wanted = JSON.stringify(this.#subject);
    if (found === undefined) this.#append(this.#subject);
    else if (found !== wanted)
      throw new UserError(`${this.#folder} has an export of ${found}, not of ${wanted}: name another folder`);
  }

  #append(line: object): void {
    const path = join(this.#folder, MANIFEST);
    const descriptor = existsSync(path) ? openSync(path, "r+") : openForOthers(path);
    try {
      if (fstatSync(descriptor).size !== this.#manifestBytes)
        throw new UserError(`${path} has changed: another export writes to this folder`);
      this.#manifestBytes += writeSync(descriptor, `${JSON.stringify(line)}\n`, this.#manifestBytes);
      fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
    syncFolder(this.#folder);
  }

  #removeOthers(): void {
    for (const table of TABLES) {
      const folder = join(this.#folder, table);
      if (!existsSync(folder)) continue;
      const known = new Set(this.#ranges.map(({ from, to }) => this.#path(table, from, to)));
      const name = new RegExp(`^${table}_\\d+_\\d+\\.(parquet|ndjson)(${PARTIAL})?$`);
      for (const found of readdirSync(folder)) {
        if (name.test(found) && !known.has(join(folder, found))) rmSync(join(folder, found));
      }
    }
  }
}

function syncFolder(path: string): void {
  const descriptor = openSync(path, "r");
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
