import { closeSync, existsSync, fstatSync, openSync, readSync } from "node:fs";
import { isSystemError } from "@rnode/primitives";
import { damaged, RethDataError } from "../errors.ts";

/** A file that is only read. */
export class ReadFile {
  readonly path: string;
  readonly sizeBytes: number;
  readonly #descriptor: number;

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

  close(): void {
    closeSync(this.#descriptor);
  }
}

/** The first `maxBytes` of a file; `undefined` if it is missing. @throws {RethDataError} reth-data/unreadable */
export function readSmallFile(path: string, maxBytes = 4096): Uint8Array | undefined {
  if (!existsSync(path)) return undefined;
  const file = new ReadFile(path);
  try {
    return file.read(0, maxBytes);
  } finally {
    file.close();
  }
}

/** @throws {RethDataError} in place of errors of the operating system */
export function asRethData<T>(path: string, read: () => T): T {
  try {
    return read();
  } catch (cause) {
    if (isSystemError(cause, "ENOENT", "ENOTDIR")) throw damaged(path, "its place in the folder", "the file is missing");
    if (isSystemError(cause)) throw new RethDataError("reth-data/unreadable", { file: path, reason: cause.message }, { cause });
    throw cause;
  }
}
