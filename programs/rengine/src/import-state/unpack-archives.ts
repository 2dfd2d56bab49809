import { createReadStream, existsSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { deserialize, serialize } from "node:v8";
import { resumableBody } from "@rnode/download";
import { isCodedError, isSystemError } from "@rnode/primitives";
import { type CommandIo, UserError } from "@rnode/program";
import { isLz4, type Lz4Progress, Lz4Stream, Malformed, TarUnpacker, WantedFiles, type WantedProgress } from "@rnode/reth-data";
import { fileError, isGzip, isUrl } from "../setup/read-input.ts";
import { isZstd } from "../setup/zstd.ts";
import { ZstdStream } from "../setup/zstd-stream.ts";
import { ByteProgress } from "./byte-progress.ts";

export interface UnpackOptions {
  /** of the data directory; what an earlier attempt left there is continued */
  readonly folder: string;
  /** number of a block whose header is wanted beside those of the last file */
  readonly block: number;
  /** Called before the database is written, with its size in the archive. */
  readonly onDatabase: (bytes: number) => void;
  /** Where another process could go on is noted each time that so many bytes were read; default: 256 MiB. */
  readonly noteEveryBytes?: number | undefined;
}

/** How far an earlier process was. */
interface Note {
  /** of all archives */
  readonly id: string;
  /** index of the current archive, or their number at the end */
  readonly archive: number;
  /** index among its names */
  readonly name: number;
  readonly offset: number;
  readonly total: number | undefined;
  readonly reader:
    | { readonly zstd: unknown; readonly lz4?: Lz4Progress | undefined; readonly tar: unknown; readonly files: WantedProgress }
    | undefined;
}

const NOTE_EVERY_BYTES = 256 << 20;
const NOTE_FILE = "unpacked-until";
const CHUNK_BYTES = 1 << 20;
/** No archive is larger. */
const MAX_BYTES = 2 ** 50;

/**
 * Unpacks the state and the newest headers from archives of a data directory of op-reth, as their bytes come: an archive itself is never on the disk.
 *
 * @param archives for each one its paths or URLs, of which the first that exists is taken
 * @throws {UserError}; what is unusable was removed
 */
export async function unpackArchives(
  archives: readonly (readonly string[])[],
  options: UnpackOptions,
  io: CommandIo,
): Promise<void> {
  const { folder } = options;
  const id = archives.join("\n");
  const before = readNote(folder, id);
  if (before === undefined) rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  if (before !== undefined) io.err("went on with what an earlier attempt had unpacked");
  let note = before ?? { id, archive: 0, name: 0, offset: 0, total: undefined, reader: undefined };
  while (note.archive < archives.length) {
    const names = archives[note.archive]!;
    const name = names[note.name]!;
    try {
      await new Unpacking(name, note, options, io).run();
      note = { ...note, archive: note.archive + 1, name: 0, offset: 0, total: undefined, reader: undefined };
      writeNote(folder, note);
    } catch (cause) {
      if (isMissing(cause) && note.name + 1 < names.length) {
        note = { ...note, name: note.name + 1 };
        continue;
      }
      if (cause instanceof Malformed || cause instanceof UserError || isCodedError(cause, "download/replaced"))
        rmSync(folder, { recursive: true, force: true });
      if (cause instanceof Malformed) throw new UserError(`--from: ${name}: the archive is damaged: ${cause.message}`, { cause });
      if (isCodedError(cause, "download/")) throw new UserError(`--from: ${cause.message}`, { cause });
      throw isSystemError(cause) ? fileError(`--from: ${name}`, cause) : cause;
    }
  }
}

const isMissing = (cause: unknown): boolean => isCodedError(cause, "download/not-found") || isSystemError(cause, "ENOENT");

class Unpacking {
  readonly #name: string;
  readonly #note: Note;
  readonly #options: UnpackOptions;
  readonly #io: CommandIo;
  readonly #files: WantedFiles;
  readonly #tar: TarUnpacker;
  #zstd: ZstdStream | undefined;
  #lz4: Lz4Stream | undefined;
  #offset: number;
  #total: number | undefined;

  constructor(name: string, note: Note, options: UnpackOptions, io: CommandIo) {
    this.#name = name;
    this.#note = note;
    this.#options = options;
    this.#io = io;
    this.#offset = note.offset;
    this.#files = new WantedFiles(options.folder, options, note.reader?.files);
    this.#tar = new TarUnpacker(this.#files, note.reader?.tar);
    if (note.reader?.zstd !== undefined) this.#zstd = this.#zstdStream(note.reader.zstd);
    if (note.reader?.lz4 !== undefined) this.#lz4 = new Lz4Stream((bytes) => this.#tar.push(bytes), note.reader.lz4);
  }

  #zstdStream(state?: unknown): ZstdStream {
    return new ZstdStream(`--from: ${this.#name}`, (bytes) => this.#tar.push(bytes), state);
  }

  async run(): Promise<void> {
    const progress = new ByteProgress(this.#io, "unpacking", this.#offset);
    const every = this.#options.noteEveryBytes ?? NOTE_EVERY_BYTES;
    let noted = this.#offset;
    try {
      for await (const bytes of this.#chunks()) {
        if (this.#offset === 0) this.#open(bytes);
        this.#push(bytes, false);
        this.#offset += bytes.length;
        progress.at(this.#offset, this.#total);
        if (this.#offset - noted < every) continue;
        noted = this.#offset;
        this.#writeNote();
      }
      this.#push(new Uint8Array(0), true);
      if (!this.#tar.isComplete) throw new Malformed("it ends early");
    } finally {
      this.#files.close();
    }
  }

  /** @param first bytes of the archive. @throws {UserError} */
  #open(first: Uint8Array): void {
    if (isGzip(first))
      throw new UserError(
        `--from: ${this.#name} is packed with gzip: unpack it, and name the folder; .tar, .tar.zst and .tar.lz4 are read`,
      );
    if (isZstd(first)) this.#zstd = this.#zstdStream();
    if (isLz4(first)) this.#lz4 = new Lz4Stream((bytes) => this.#tar.push(bytes));
  }

  #push(bytes: Uint8Array, isLast: boolean): void {
    const packed = this.#zstd ?? this.#lz4;
    if (packed === undefined) this.#tar.push(bytes);
    else packed.push(bytes, isLast);
  }

  #writeNote(): void {
    this.#files.sync();
    const reader = { zstd: this.#zstd?.state, lz4: this.#lz4?.state, tar: this.#tar.state, files: this.#files.progress };
    writeNote(this.#options.folder, { ...this.#note, offset: this.#offset, total: this.#total, reader });
  }

  async *#chunks(): AsyncGenerator<Uint8Array> {
    const name = this.#name;
    const from = this.#offset;
    const setTotal = (total: number): void => {
      const before = this.#note.total;
      if (before !== undefined && before !== total) throw new Malformed("it was replaced since an earlier attempt; start again");
      this.#total = total;
    };
    if (isUrl(name)) {
      const onRetry = (reason: string, waitMs: number): void =>
        this.#io.err(`${name}: ${reason}; trying again in ${waitMs / 1000} s`);
      yield* resumableBody(name, { from, maxBytes: MAX_BYTES, onTotal: setTotal, onRetry });
      return;
    }
    setTotal(statSync(name).size);
    yield* createReadStream(name, { start: from, highWaterMark: CHUNK_BYTES }) as AsyncIterable<Buffer>;
  }
}

function readNote(folder: string, id: string): Note | undefined {
  const file = join(folder, NOTE_FILE);
  if (!existsSync(file)) return undefined;
  const note = deserialize(readFileSync(file)) as Note;
  return note.id === id ? note : undefined;
}

/** A kill leaves the old note or the new one. */
function writeNote(folder: string, note: Note): void {
  const file = join(folder, NOTE_FILE);
  writeFileSync(`${file}.new`, serialize(note), { flush: true });
  renameSync(`${file}.new`, file);
}
