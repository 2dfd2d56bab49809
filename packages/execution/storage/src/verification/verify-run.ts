import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { isCodedError } from "@rnode/primitives";
import type { VerifyCheckpoints, VerifyNotice, VerifyProgress, VerifyRestartReason } from "../api.ts";
import type { Head } from "../blocks/meta-table.ts";
import { stampOfFile } from "../database/data-file.ts";
import { DATA_FILE } from "../errors.ts";
import { FORMAT } from "../schema.ts";
import { type Checkpoint, type DatabaseStamp, decodeCheckpoint, encodeCheckpoint, type VerifyPlace } from "./checkpoint.ts";
import { CheckpointFolder } from "./checkpoint-folder.ts";

const DEFAULT_INTERVAL_MS = 5000;
/** A killed verification exits only after its writes are on disk. */
const ENDING_MS = 10_000;
/** Minimum ratio of work to disk time between two checkpoints. */
const LEAST_WORK = 10;
/** The checkpoints of a verification, if it makes any. */
export interface VerifyRun {
  /** where an earlier one was interrupted */
  readonly from: VerifyPlace | undefined;
  /**
   * Writes a checkpoint if the last one is old enough. If that fails, the verification continues without.
   *
   * @param capture the position after the checked rows; `undefined`: there is nothing to store yet
   */
  offer(capture: () => VerifyPlace | undefined, progress: VerifyProgress): void;
  /** The verification is complete; removes all its files. */
  finish(): void;
  /** Without `finish`, the next verification can resume. */
  close(): void;
}

/** Begins a verification, or resumes an interrupted one. Without a writable folder, it runs without checkpoints. */
export function beginVerifyRun(databaseFolder: string, head: Head, checkpoints: VerifyCheckpoints | undefined): VerifyRun {
  if (checkpoints !== undefined) {
    try {
      return beginKept(databaseFolder, head, checkpoints);
    } catch (error) {
      checkpoints.onNotice?.({ kind: "no-checkpoint", reason: reasonOf(error) });
    }
  }
  return { from: undefined, offer() {}, finish() {}, close() {} };
}

function beginKept(databaseFolder: string, head: Head, options: VerifyCheckpoints): VerifyRun {
  const database: DatabaseStamp = {
    head: `format ${FORMAT} block ${head.number} ${head.hashHex} reorganisations ${head.reorganisations}`,
    file: stampOfFile(join(databaseFolder, DATA_FILE)),
  };
  const folder = new CheckpointFolder(databaseFolder, ENDING_MS);
  try {
    const found = findCheckpoint(folder, database, options.restart ?? false);
    if (typeof found === "object") options.onNotice?.({ kind: "resumed", ...found.progress });
    else if (found !== "none") options.onNotice?.({ kind: "restarted", because: found });
    if (typeof found !== "object") folder.clear();
    return new KeptVerifyRun(folder, database, typeof found === "object" ? found.place : undefined, options);
  } catch (error) {
    folder.release();
    throw error;
  }
}

/** @returns the checkpoint of the folder, or why there is no usable one */
function findCheckpoint(
  folder: CheckpointFolder,
  database: DatabaseStamp,
  restart: boolean,
): Checkpoint | VerifyRestartReason | "none" {
  const bytes = folder.read();
  if (bytes === undefined) return "none";
  return restart ? "wanted" : decodeCheckpoint(bytes, database);
}

class KeptVerifyRun implements VerifyRun {
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
    from: VerifyPlace | undefined,
    { intervalMs = DEFAULT_INTERVAL_MS, nowMs = () => performance.now(), onNotice = () => {} }: VerifyCheckpoints,
  ) {
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
    const startMs = this.#nowMs();
    try {
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
    try {
      this.#folder.clear();
    } catch (error) {
      if (!isFileProblem(error)) throw error; // the next verification removes the rest
    }
  }

  close(): void {
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
