import { closeSync, fsyncSync, ftruncateSync, mkdirSync, openSync, readdirSync, rmSync, writeSync } from "node:fs";
import { dirname, join } from "node:path";
import { Malformed } from "../errors.ts";
import type { FileSink } from "./tar-unpacker.ts";

const WANTED =
  /^(.*\/)?(db\/(?:mdbx\.dat|database\.version)|static_files\/static_file_headers_(\d{1,15})_(\d{1,15})(?:\.conf|\.off)?)$/;
const HEADERS = /^static_file_headers_(\d{1,15})_(\d{1,15})/;
/** Zeros of this size are left out, as holes. */
const PIECE_BYTES = 16 << 10;
const ZEROS = Buffer.alloc(PIECE_BYTES);

export interface WantedFilesOptions {
  /** the number of a block whose header is wanted beside those of the last file */
  readonly block: number;
  /** Called before the database is written; what it throws ends it. */
  readonly onDatabase: (bytes: number) => void;
}

/** The state of the current file, as plain data. */
export interface WantedProgress {
  /** of the archive's folders before `db` and `static_files`; `undefined` before the first file */
  readonly prefix: string | undefined;
  readonly path: string | undefined;
}

/** Writes those files of a data directory of op-reth that have its state and its newest headers, and no others. */
export class WantedFiles implements FileSink {
  readonly #folder: string;
  readonly #options: WantedFilesOptions;
  #prefix: string | undefined;
  #path: string | undefined;
  #descriptor: number | undefined;

  constructor(folder: string, options: WantedFilesOptions, progress?: WantedProgress) {
    this.#folder = folder;
    this.#options = options;
    this.#prefix = progress?.prefix;
    if (progress?.path === undefined) return;
    this.#path = progress.path;
    this.#descriptor = openSync(join(folder, progress.path), "r+");
  }

  get progress(): WantedProgress {
    return { prefix: this.#prefix, path: this.#path };
  }

  begin(name: string, dataBytes: number): boolean {
    const [, prefix = "", path, , last] = WANTED.exec(name.replace(/^(?:\.\/)+/, "")) ?? [];
    if (path === undefined) return false;
    this.#prefix ??= prefix;
    if (prefix !== this.#prefix) throw new Malformed(`it has two data directories, ${this.#prefix || "."} and ${prefix || "."}`);
    if (last !== undefined && !this.#keepsHeaders(path)) return false;
    if (path === "db/mdbx.dat") this.#options.onDatabase(dataBytes);
    const file = join(this.#folder, path);
    mkdirSync(dirname(file), { recursive: true });
    this.#descriptor = openSync(file, "w");
    this.#path = path;
    return true;
  }

  /** Removes headers that are older than those of a file. @returns false: the file itself is older */
  #keepsHeaders(path: string): boolean {
    const folder = join(this.#folder, "static_files");
    mkdirSync(folder, { recursive: true });
    const own = rangeOf(path.slice("static_files/".length))!;
    let isNewest = true;
    for (const name of readdirSync(folder)) {
      const range = rangeOf(name);
      if (range === undefined) continue;
      if (range.last > own.last) isNewest = false;
      if (range.last < own.last && !this.#hasBlock(range)) rmSync(join(folder, name));
    }
    return isNewest || this.#hasBlock(own);
  }

  #hasBlock({ first, last }: Range): boolean {
    return first <= this.#options.block && this.#options.block <= last;
  }

  write(bytes: Uint8Array, offset: number): void {
    for (let at = 0; at < bytes.length; at += PIECE_BYTES) {
      const piece = bytes.subarray(at, at + PIECE_BYTES);
      if (ZEROS.compare(piece, 0, piece.length, 0, piece.length) === 0) continue;
      for (let done = 0; done < piece.length; )
        done += writeSync(this.#descriptor!, piece, done, piece.length - done, offset + at + done);
    }
  }

  end(size: number): void {
    ftruncateSync(this.#descriptor!, size);
    this.sync();
    this.close();
    this.#path = undefined;
  }

  /** Everything that was written is on the disk afterwards. */
  sync(): void {
    if (this.#descriptor !== undefined) fsyncSync(this.#descriptor);
  }

  close(): void {
    if (this.#descriptor !== undefined) closeSync(this.#descriptor);
    this.#descriptor = undefined;
  }
}

interface Range {
  readonly first: number;
  readonly last: number;
}

function rangeOf(name: string): Range | undefined {
  const [, first, last] = HEADERS.exec(name) ?? [];
  return first === undefined ? undefined : { first: Number(first), last: Number(last) };
}
