import { accessSync, constants } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { isCodedError } from "@rnode/primitives";
import type { VerifyCheckpoints, VerifyNotice, VerifyOptions, VerifyProgress, VerifyRestartReason } from "../api.ts";
import type { Head } from "../blocks/meta-table.ts";
import { stampOfFile } from "../database/data-file.ts";
import { DATA_FILE } from "../errors.ts";
import { FORMAT } from "../schema.ts";
import { type Checkpoint, type DatabaseStamp, decodeCheckpoint, encodeCheckpoint, type VerifyPlace } from "./checkpoint.ts";
import { CheckpointFolder } from "./checkpoint-folder.ts";
import { StateRows, type StateRuns } from "./state-rows.ts";

const DEFAULT_INTERVAL_MS = 5000;
/** A killed verification exits only after its writes are on disk. */
const ENDING_MS = 10_000;
/** Minimum ratio of work to disk time between two checkpoints. */
const LEAST_WORK = 10;
/**
 * Each checkpoint ends a run of sorted rows, and merging needs memory for each run. From this number on, checkpoints become
 * rarer.
 */
const MANY_RUNS = 512;

/** A verification's sorted rows, and its checkpoints, if it makes any. */
export interface VerifyRun {
  readonly rows: StateRows;
  /** where an earlier one was interrupted */
  readonly from: VerifyPlace | undefined;
  /**
   * Writes a checkpoint if the last one is old enough. If that fails, the verification continues without.
   *
   * @param capture the position after the added rows; `undefined`: there is nothing to store yet
   */
  offer(capture: () => VerifyPlace | undefined, progress: VerifyProgress): void;
  /** The verification is complete; removes all its files. */
  finish(): void;
  /** Without `finish`, the next verification can resume. */
  close(): void;
}

/**
 * Begins a verification, or resumes an interrupted one. Without a writable folder, it runs without checkpoints.
 *
 * @throws {CodedError} storage/disk-full, storage/io: the temporary files
 */
export function beginVerifyRun(
  databaseFolder: string,
  head: Head,
  { memoryBytes, checkpoints }: Pick<VerifyOptions, "memoryBytes" | "checkpoints">,
): VerifyRun {
  if (checkpoints !== undefined) {
    try {
      return beginKept(databaseFolder, head, memoryBytes, checkpoints);
    } catch (error) {
      checkpoints.onNotice?.({ kind: "no-checkpoint", reason: reasonOf(error) });
    }
  }
  const rows = new StateRows({ folder: temporaryFolder(databaseFolder), memoryBytes });
  return { rows, from: undefined, offer() {}, finish() {}, close: () => rows.close() };
}

function beginKept(databaseFolder: string, head: Head, memoryBytes: number | undefined, options: VerifyCheckpoints): VerifyRun {
  const database: DatabaseStamp = {
    head: `format ${FORMAT} block ${head.number} ${head.hashHex} reorganisations ${head.reorganisations}`,
    file: stampOfFile(join(databaseFolder, DATA_FILE)),
  };
  const folder = new CheckpointFolder(databaseFolder, ENDING_MS);
  try {
    const rowsOf = (kept: StateRuns): StateRows => new StateRows({ folder: folder.path, memoryBytes, kept });
    const found = findCheckpoint(folder, database, rowsOf, options.restart ?? false);
    if (typeof found === "object") options.onNotice?.({ kind: "resumed", ...found.checkpoint.progress });
    else if (found !== "none") options.onNotice?.({ kind: "restarted", because: found });
    if (typeof found === "object") return new KeptVerifyRun(folder, database, found.rows, found.checkpoint.place, options);
    folder.clear();
    return new KeptVerifyRun(folder, database, rowsOf({ accounts: [], slots: [] }), undefined, options);
  } catch (error) {
    folder.release();
    throw error;
  }
}

/** @returns the checkpoint of the folder with its rows, or why there is no usable one */
function findCheckpoint(
  folder: CheckpointFolder,
  database: DatabaseStamp,
  rowsOf: (runs: StateRuns) => StateRows,
  restart: boolean,
): { readonly checkpoint: Checkpoint; readonly rows: StateRows } | VerifyRestartReason | "none" {
  const bytes = folder.read();
  if (bytes === undefined) return "none";
  if (restart) return "wanted";
  const checkpoint = decodeCheckpoint(bytes, database);
  if (typeof checkpoint === "string") return checkpoint;
  const rows = rowsOf(checkpoint.runs);
  try {
    if (rows.isIntact()) return { checkpoint, rows };
  } catch (error) {
    if (!isFileProblem(error)) throw error;
  }
  rows.close();
  return "damaged";
}

class KeptVerifyRun implements VerifyRun {
  readonly rows: StateRows;
  readonly from: VerifyPlace | undefined;
  readonly #folder: CheckpointFolder;
  readonly #database: DatabaseStamp;
  readonly #intervalMs: number;
  readonly #nowMs: () => number;
  readonly #onNotice: (notice: VerifyNotice) => void;
  #dueMs: number;
  #hasFailed = false;

  constructor(
    folder: CheckpointFolder,
    database: DatabaseStamp,
    rows: StateRows,
    from: VerifyPlace | undefined,
    { intervalMs = DEFAULT_INTERVAL_MS, nowMs = () => performance.now(), onNotice = () => {} }: VerifyCheckpoints,
  ) {
    this.rows = rows;
    this.from = from;
    this.#folder = folder;
    this.#database = database;
    this.#intervalMs = intervalMs;
    this.#nowMs = nowMs;
    this.#onNotice = onNotice;
    this.#dueMs = nowMs() + intervalMs;
  }

  offer(capture: () => VerifyPlace | undefined, progress: VerifyProgress): void {
    if (this.#nowMs() < this.#dueMs) return;
    const place = capture();
    if (place === undefined) return;
    let startMs: number | undefined;
    try {
      this.rows.spill(); // they would have to be sorted and written anyway
      startMs = this.#nowMs();
      this.rows.sync();
      const { runs } = this.rows;
      this.#folder.write(encodeCheckpoint({ database: this.#database, place, runs, progress }));
    } catch (error) {
      if (!isFileProblem(error)) throw error;
      if (!this.#hasFailed) this.#onNotice({ kind: "no-checkpoint", reason: reasonOf(error) });
      this.#hasFailed = true;
    }
    const endMs = this.#nowMs();
    const { accounts, slots } = this.rows.runs;
    const intervalMs = this.#intervalMs * (1 + Math.floor(Math.max(accounts.length, slots.length) / MANY_RUNS));
    this.#dueMs = endMs + Math.max(intervalMs, LEAST_WORK * (endMs - (startMs ?? endMs)));
  }

  finish(): void {
    this.rows.close();
    try {
      this.#folder.clear();
    } catch (error) {
      if (!isFileProblem(error)) throw error; // the next verification removes the rest
    }
  }

  close(): void {
    this.rows.close();
    this.#folder.release();
  }
}

const isFileProblem = (error: unknown): boolean => isCodedError(error, "storage/disk-full") || isCodedError(error, "storage/io");

/** @throws errors that come neither from files nor from another process */
function reasonOf(error: unknown): string {
  if (!isCodedError(error, "storage/")) throw error;
  if (error.code === "storage/locked") return `process ${error.data.pid} is verifying the same database`;
  return String(error.data.reason ?? error.message);
}

/** Folder for temporary files of a read-only program. */
function temporaryFolder(folder: string): string {
  try {
    accessSync(folder, constants.W_OK);
    return folder;
  } catch {
    return tmpdir();
  }
}
