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
import { StateRows } from "./state-rows.ts";

const DEFAULT_INTERVAL_MS = 5000;
/** Between two checkpoints there is so much more work than writing one takes. */
const LEAST_WORK = 20;

/** A verification's sorted rows, and its checkpoints, if it makes any. */
export interface VerifyRun {
  readonly rows: StateRows;
  /** where an earlier one was interrupted */
  readonly from: VerifyPlace | undefined;
  /**
   * Writes a checkpoint if the last one is long enough ago. If it cannot be written, the verification goes on without.
   *
   * @param capture brings what it refers to to the disk; undefined: there is nothing yet to be kept
   */
  offer(capture: () => VerifyPlace | undefined, progress: VerifyProgress): void;
  /** The verification is complete: nothing of it remains. */
  finish(): void;
  /** Without `finish`, the next one can go on where this one was. */
  close(): void;
}

/**
 * Begins a verification, or continues the one that was interrupted. One that cannot have a folder for its checkpoints goes without them.
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
  const folder = new CheckpointFolder(databaseFolder);
  try {
    const rowsOf = (place: VerifyPlace | undefined): StateRows => {
      const kept = place?.part === "state" ? place.runs : { accounts: [], slots: [] };
      return new StateRows({ folder: folder.path, memoryBytes, kept });
    };
    const found = findCheckpoint(folder, database, rowsOf, options.restart ?? false);
    if (typeof found === "object") options.onNotice?.({ kind: "resumed", ...found.checkpoint.progress });
    else if (found !== "none") options.onNotice?.({ kind: "restarted", because: found });
    if (typeof found === "object") return new KeptVerifyRun(folder, database, found.rows, found.checkpoint.place, options);
    folder.clear();
    return new KeptVerifyRun(folder, database, rowsOf(undefined), undefined, options);
  } catch (error) {
    folder.release();
    throw error;
  }
}

/** @returns the checkpoint of the folder with the rows that it refers to, or why there is none that can be used */
function findCheckpoint(
  folder: CheckpointFolder,
  database: DatabaseStamp,
  rowsOf: (place: VerifyPlace) => StateRows,
  restart: boolean,
): { readonly checkpoint: Checkpoint; readonly rows: StateRows } | VerifyRestartReason | "none" {
  const bytes = folder.read();
  if (bytes === undefined) return "none";
  if (restart) return "wanted";
  const checkpoint = decodeCheckpoint(bytes, database);
  if (typeof checkpoint === "string") return checkpoint;
  const rows = rowsOf(checkpoint.place);
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
    const startMs = this.#nowMs();
    if (startMs < this.#dueMs) return;
    try {
      const place = capture();
      if (place === undefined) return;
      this.#folder.write(encodeCheckpoint({ database: this.#database, place, progress }));
    } catch (error) {
      if (!isFileProblem(error)) throw error;
      if (!this.#hasFailed) this.#onNotice({ kind: "no-checkpoint", reason: reasonOf(error) });
      this.#hasFailed = true;
    }
    const endMs = this.#nowMs();
    this.#dueMs = endMs + Math.max(this.#intervalMs, LEAST_WORK * (endMs - startMs));
  }

  finish(): void {
    this.rows.close();
    try {
      this.#folder.clear();
    } catch (error) {
      if (!isFileProblem(error)) throw error; // what stays is removed by the next verification
    }
  }

  close(): void {
    this.rows.close();
    this.#folder.release();
  }
}

const isFileProblem = (error: unknown): boolean => isCodedError(error, "storage/disk-full") || isCodedError(error, "storage/io");

const reasonOf = (error: unknown): string => {
  if (!isCodedError(error)) throw error;
  return String(error.data.reason ?? error.message);
};

/** Where a program that only reads may put what does not fit into memory. */
function temporaryFolder(folder: string): string {
  try {
    accessSync(folder, constants.W_OK);
    return folder;
  } catch {
    return tmpdir();
  }
}
