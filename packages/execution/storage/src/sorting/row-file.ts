import { closeSync, fstatSync, ftruncateSync, mkdirSync, openSync, readSync, unlinkSync, writeSync } from "node:fs";
import { join } from "node:path";
import { toStorageError } from "../errors.ts";

const WRITE_BYTES = 1 << 20;
let names = 0;

function openUnlinked(folder: string): number {
  mkdirSync(folder, { recursive: true });
  const path = join(folder, `sorting.${process.pid}.${names++}`);
  const descriptor = openSync(path, "wx+", 0o600);
  unlinkSync(path);
  return descriptor;
}

/** A temporary file that grows at its end and is read in parts. It is unlinked after opening, so it disappears with the process. */
export class RowFile {
  readonly #folder: string;
  #descriptor: number | undefined;
  readonly #pending = new Uint8Array(WRITE_BYTES);
  #pendingBytes = 0;
  #writtenBytes = 0;

  /** @param descriptor of the file, if it is open. @throws {CodedError} storage/disk-full, storage/io */
  constructor(folder: string, descriptor?: number) {
    this.#folder = folder;
    this.#descriptor = descriptor ?? this.#tried(() => openUnlinked(folder));
  }

  /** The file of another thread of this process, for `read`. */
  static reading(descriptor: number): RowFile {
    return new RowFile("a temporary file", descriptor);
  }

  get descriptor(): number {
    return this.#open();
  }

  get sizeBytes(): number {
    return this.#writtenBytes + this.#pendingBytes;
  }

  /** @throws {CodedError} storage/disk-full, storage/io */
  append(bytes: Uint8Array): void {
    if (bytes.length > WRITE_BYTES - this.#pendingBytes) this.flush();
    if (bytes.length > WRITE_BYTES) {
      this.#write(bytes);
      return;
    }
    this.#pending.set(bytes, this.#pendingBytes);
    this.#pendingBytes += bytes.length;
  }

  flush(): void {
    this.#write(this.#pending.subarray(0, this.#pendingBytes));
    this.#pendingBytes = 0;
  }

  /** Removes everything from the position `sizeBytes` on. */
  cut(sizeBytes: number): void {
    this.#pendingBytes = 0;
    this.#writtenBytes = sizeBytes;
    this.#tried(() => {
      if (fstatSync(this.#open()).size > sizeBytes) ftruncateSync(this.#open(), sizeBytes);
    });
  }

  #write(bytes: Uint8Array): void {
    this.#tried(() => {
      for (let at = 0; at < bytes.length; ) at += writeSync(this.#open(), bytes, at, bytes.length - at, this.#writtenBytes + at);
    });
    this.#writtenBytes += bytes.length;
  }

  /** Fills `into` from the position `from` on, which must have been flushed. @returns the number of bytes, less at the end of the file */
  read(into: Uint8Array, from: number): number {
    return this.#tried(() => {
      let size = 0;
      while (size < into.length) {
        const read = readSync(this.#open(), into, size, into.length - size, from + size);
        if (read === 0) break;
        size += read;
      }
      return size;
    });
  }

  close(): void {
    if (this.#descriptor !== undefined) closeSync(this.#descriptor);
    this.#descriptor = undefined;
  }

  #open(): number {
    if (this.#descriptor === undefined) throw new TypeError("the file is closed");
    return this.#descriptor;
  }

  #tried<T>(action: () => T): T {
    try {
      return action();
    } catch (error) {
      throw toStorageError(error, this.#folder);
    }
  }
}
