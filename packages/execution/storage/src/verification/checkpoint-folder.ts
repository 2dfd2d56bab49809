import { closeSync, existsSync, fsyncSync, openSync, readFileSync, renameSync, rmdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isCodedError, isSystemError } from "@rnode/primitives";
import { acquireWriterLock, type WriterLock } from "../database/writer-lock.ts";
import { toStorageError } from "../errors.ts";

const CHECKPOINT_FILE = "checkpoint";
const FILES = [CHECKPOINT_FILE, `${CHECKPOINT_FILE}.new`];

const LOOK_INTERVAL_MS = 50;

/** A part of the database's folder for the files of an interrupted verification. */
const VERIFY_FOLDER = "verify";

/** The folder of checkpoints. One process at a time has it. */
export class CheckpointFolder {
  readonly path: string;
  readonly #databaseFolder: string;
  readonly #lock: WriterLock;

  /**
   * Creates the folder if it does not exist.
   *
   * @param waitMs timeout for another process with the lock, because a killed process takes a moment to exit
   * @throws {CodedError} storage/locked: another verification is running; storage/disk-full, storage/io
   */
  constructor(databaseFolder: string, waitMs = 0) {
    this.#databaseFolder = databaseFolder;
    this.path = join(databaseFolder, VERIFY_FOLDER);
    this.#lock = this.#tried(() => this.#acquire(waitMs));
  }

  #acquire(waitMs: number): WriterLock {
    for (let waitedMs = 0; ; waitedMs += LOOK_INTERVAL_MS) {
      try {
        return acquireWriterLock(this.path);
      } catch (error) {
        if (!isCodedError(error, "storage/locked") || error.data.pid === process.pid || waitedMs >= waitMs) throw error;
      }
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, LOOK_INTERVAL_MS);
    }
  }

  /** @returns `undefined` if there is none @throws {CodedError} storage/io */
  read(): Buffer | undefined {
    return this.#tried(() => {
      try {
        return readFileSync(join(this.path, CHECKPOINT_FILE));
      } catch (error) {
        if (isSystemError(error, "ENOENT")) return undefined;
        throw error;
      }
    });
  }

  /** Replaces the checkpoint atomically, on disk. @throws {CodedError} storage/disk-full, storage/io: the previous one is kept */
  write(checkpoint: Uint8Array): void {
    const file = join(this.path, CHECKPOINT_FILE);
    this.#tried(() => {
      writeFileSync(`${file}.new`, checkpoint, { mode: 0o600, flush: true });
      renameSync(`${file}.new`, file);
      const descriptor = openSync(this.path, "r");
      try {
        fsyncSync(descriptor);
      } finally {
        closeSync(descriptor);
      }
    });
  }

  /**
   * Removes the files of an earlier verification.
   *
   * @throws {CodedError} storage/io
   */
  clear(): void {
    this.#tried(() => {
      for (const name of FILES) rmSync(join(this.path, name), { recursive: true, force: true });
    });
  }

  /** Leaves the folder to other processes, and removes it if nothing is in it. */
  release(): void {
    this.#lock.release();
    try {
      rmdirSync(this.path);
    } catch {
      // It has a checkpoint, or another process has it already.
    }
  }

  #tried<T>(action: () => T): T {
    try {
      return action();
    } catch (error) {
      throw toStorageError(error, this.#databaseFolder);
    }
  }
}

/** Removes the files of an interrupted verification, which are invalid with another head. Those of a running one are kept. */
export function removeCheckpoints(databaseFolder: string): void {
  if (!existsSync(join(databaseFolder, VERIFY_FOLDER))) return;
  try {
    const folder = new CheckpointFolder(databaseFolder);
    try {
      folder.clear();
    } finally {
      folder.release();
    }
  } catch (error) {
    if (!isCodedError(error)) throw error; // the next verification removes it
  }
}
