import {
  closeSync,
  constants,
  fdatasyncSync,
  fstatSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readSync,
  unlinkSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { crc32 } from "node:zlib";
import { toStorageError } from "../errors.ts";

const WRITE_BYTES = 1 << 20;
let names = 0;

/** A file that stays when the process ends. */
export interface KeptFile {
  readonly name: string;
  /** size of the content from an earlier process to keep */
  readonly sizeBytes: number;
}

/**
 * A temporary file that grows at its end and is read in parts. Unless it is kept, it is unlinked after opening, so it disappears
 * with the process in any case.
 */
export class RowFile {
  readonly #folder: string;
  #descriptor: number | undefined;
  readonly #pending = new Uint8Array(WRITE_BYTES);
  #pendingBytes = 0;
  #writtenBytes = 0;
  #checksum = 0;

  /** @throws {CodedError} storage/disk-full, storage/io */
  constructor(folder: string, kept?: KeptFile) {
    this.#folder = folder;
    this.#descriptor = this.#tried(() => {
      mkdirSync(folder, { recursive: true });
      if (kept !== undefined) return openSync(join(folder, kept.name), constants.O_RDWR | constants.O_CREAT, 0o600);
      const path = join(folder, `sorting.${process.pid}.${names++}`);
      const descriptor = openSync(path, "wx+", 0o600);
      unlinkSync(path);
      return descriptor;
    });
    if (kept !== undefined) this.cut(kept.sizeBytes);
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

  /** @returns CRC-32 of the bytes written since the last call, or since `cut` */
  takeChecksum(): number {
    this.flush();
    const checksum = this.#checksum;
    this.#checksum = 0;
    return checksum;
  }

  /** Removes everything from the position `sizeBytes` on. */
  cut(sizeBytes: number): void {
    this.#pendingBytes = 0;
    this.#checksum = 0;
    this.#writtenBytes = sizeBytes;
    this.#tried(() => {
      if (fstatSync(this.#open()).size > sizeBytes) ftruncateSync(this.#open(), sizeBytes);
    });
  }

  /** Waits until everything that was flushed is on the disk. @throws {CodedError} storage/disk-full, storage/io */
  sync(): void {
    this.#tried(() => fdatasyncSync(this.#open()));
  }

  #write(bytes: Uint8Array): void {
    this.#checksum = crc32(bytes, this.#checksum);
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
