import { closeSync, fstatSync, openSync, readSync, type Stats, statSync } from "node:fs";
import { isSystemError } from "@rnode/primitives";
import { damaged, RethDataError } from "../errors.ts";

/** A file that is only read. */
export class ReadFile {
  readonly path: string;
  readonly sizeBytes: number;
  #descriptor: number;

  /** @throws {RethDataError} reth-data/damaged if the file is missing, reth-data/unreadable */
  constructor(path: string) {
    this.path = path;
    this.#descriptor = asRethData(path, () => openSync(path, "r"));
    this.sizeBytes = asRethData(path, () => fstatSync(this.#descriptor).size);
  }

  /**
   * @param size trusted or checked against a limit: a buffer of this size is made
   * @returns fewer bytes at the end of the file
   * @throws {RethDataError} reth-data/unreadable
   */
  read(offset: number, size: number): Uint8Array {
    const bytes = new Uint8Array(size);
    let done = 0;
    while (done < size) {
      const read = asRethData(this.path, () => readSync(this.#descriptor, bytes, done, size - done, offset + done));
      if (read === 0) return bytes.subarray(0, done);
      done += read;
    }
    return bytes;
  }

  /** Reads after it throw: the number of the descriptor may be another file's by then. */
  close(): void {
    if (this.#descriptor >= 0) closeSync(this.#descriptor);
    this.#descriptor = -1;
  }
}

/** The first `maxBytes` of a file; `undefined` if it is missing. @throws {RethDataError} reth-data/unreadable */
export function readSmallFile(path: string, maxBytes = 4096): Uint8Array | undefined {
  if (statFile(path) === undefined) return undefined;
  const file = new ReadFile(path);
  try {
    return file.read(0, maxBytes);
  } finally {
    file.close();
  }
}

/** `undefined` if nothing is there. @throws {RethDataError} reth-data/unreadable */
export function statFile(path: string): Stats | undefined {
  try {
    return statSync(path);
  } catch (cause) {
    if (isSystemError(cause, "ENOENT", "ENOTDIR")) return undefined;
    throw unreadable(path, cause);
  }
}

/** @throws {RethDataError} in place of errors of the operating system */
export function asRethData<T>(path: string, read: () => T): T {
  try {
    return read();
  } catch (cause) {
    if (isSystemError(cause, "ENOENT", "ENOTDIR")) throw damaged(path, "its place in the folder", "the file is missing");
    throw unreadable(path, cause);
  }
}

const unreadable = (path: string, cause: unknown): unknown =>
  isSystemError(cause) ? new RethDataError("reth-data/unreadable", { file: path, reason: cause.message }, { cause }) : cause;
