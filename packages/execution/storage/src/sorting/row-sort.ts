import { crc32 } from "node:zlib";
import { compareBytes } from "@rnode/primitives";
import { RowFile } from "./row-file.ts";
import { ascendingPlaces } from "./row-order.ts";

const PAGE_ROWS = 1024;
const DEFAULT_MEMORY_BYTES = 48 << 20;
/** for all runs that are merged at the same time */
const MERGE_BYTES = 32 << 20;
const [MIN_RUN_BUFFER, MAX_RUN_BUFFER] = [16 << 10, 1 << 20] as const;
/** of one read of `hasIntactRuns` */
const CHECK_BYTES = 1 << 20;

/** A sorted part of the file of a `RowSort`; it starts at the end of the previous one. */
export interface SortedRun {
  readonly endBytes: number;
  /** CRC-32 of its rows */
  readonly checksum: number;
}

/** Rows in a file that stays when the process ends. */
interface KeptRuns {
  /** of the file */
  readonly name: string;
  /** the runs of an earlier process in the file; later content is removed */
  readonly runs: readonly SortedRun[];
}

export interface RowSortOptions {
  readonly rowBytes: number;
  /** a row starts with its key */
  readonly keyBytes: number;
  /** where rows go that do not fit into memory */
  readonly folder: string;
  /** of rows in memory; default: 48 MiB */
  readonly memoryBytes?: number | undefined;
  /** default: the file has no name, and goes with the process */
  readonly kept?: KeptRuns | undefined;
}

/**
 * Sorts any number of rows of one size with a bounded amount of memory: sorted runs are written to a temporary file, and merged
 * during reading. The file can be kept, for a process that resumes the sort.
 */
export class RowSort {
  readonly #rowBytes: number;
  readonly #keyBytes: number;
  readonly #folder: string;
  readonly #maxRows: number;
  readonly #pages: Uint8Array[] = [];
  /** rows in memory */
  #rows = 0;
  #file: RowFile | undefined;
  readonly #fileName: string | undefined;
  readonly #runs: SortedRun[];
  #isSynced = true;

  /** @throws {CodedError} storage/disk-full, storage/io: the file of kept runs */
  constructor({ rowBytes, keyBytes, folder, memoryBytes = DEFAULT_MEMORY_BYTES, kept }: RowSortOptions) {
    this.#rowBytes = rowBytes;
    this.#keyBytes = keyBytes;
    this.#folder = folder;
    this.#maxRows = Math.max(PAGE_ROWS, Math.floor(memoryBytes / rowBytes));
    this.#fileName = kept?.name;
    this.#runs = [...(kept?.runs ?? [])];
    if (this.#runs.length > 0) this.#openFile();
  }

  get count(): number {
    return this.#fileBytes / this.#rowBytes + this.#rows;
  }

  /** The runs in the file. */
  get runs(): readonly SortedRun[] {
    return this.#runs;
  }

  get #fileBytes(): number {
    return this.#runs.at(-1)?.endBytes ?? 0;
  }

  #openFile(): RowFile {
    this.#file ??= new RowFile(
      this.#folder,
      this.#fileName === undefined ? undefined : { name: this.#fileName, sizeBytes: this.#fileBytes },
    );
    return this.#file;
  }

  /** Whether all runs are as they were written. Reads the file once. @throws {CodedError} storage/io */
  hasIntactRuns(): boolean {
    const piece = new Uint8Array(CHECK_BYTES);
    return this.#runs.every(({ endBytes, checksum }, index) => {
      let found = 0;
      for (let at = this.#runs[index - 1]?.endBytes ?? 0; at < endBytes; at += piece.length) {
        const part = piece.subarray(0, Math.min(piece.length, endBytes - at));
        if (this.#openFile().read(part, at) < part.length) return false;
        found = crc32(part, found);
      }
      return found === checksum;
    });
  }

  /**
   * Adds a row. @returns its bytes, all zero, to be filled before the next call
   *
   * @throws {CodedError} storage/disk-full, storage/io
   */
  add(): Uint8Array {
    if (this.#rows === this.#maxRows) this.spill();
    const place = this.#rows++;
    if (place % PAGE_ROWS === 0 && this.#pages.length <= place / PAGE_ROWS) {
      this.#pages.push(new Uint8Array(PAGE_ROWS * this.#rowBytes));
    }
    return this.#row(place).fill(0);
  }

  #row(place: number): Uint8Array {
    const at = (place % PAGE_ROWS) * this.#rowBytes;
    return this.#pages[Math.floor(place / PAGE_ROWS)]!.subarray(at, at + this.#rowBytes);
  }

  /**
   * Writes the rows in memory to the file. It may be called during reading, which then continues. If it fails, the rows stay in
   * memory.
   *
   * @throws {CodedError} storage/disk-full, storage/io
   */
  spill(): void {
    if (this.#rows === 0) return;
    const file = this.#openFile();
    try {
      for (const place of this.#places()) file.append(this.#row(place));
      this.#runs.push({ checksum: file.takeChecksum(), endBytes: file.sizeBytes });
    } catch (error) {
      file.cut(this.#fileBytes);
      throw error;
    }
    this.#isSynced = false;
    this.#rows = 0;
  }

  /** Waits until the runs are on the disk. @throws {CodedError} storage/disk-full, storage/io */
  sync(): void {
    if (!this.#isSynced) this.#file?.sync();
    this.#isSynced = true;
  }

  #places(): Uint32Array {
    return ascendingPlaces(this.#rows, this.#keyBytes, (place) => this.#row(place));
  }

  /**
   * All rows in ascending order of their keys; a row is valid until the next. No row may be added afterwards, but the rows can be read again.
   *
   * @param after only rows with greater keys; default: all
   * @throws {CodedError} storage/disk-full, storage/io
   */
  *sorted(after?: Uint8Array): Generator<Uint8Array> {
    if (this.#runs.length === 0) {
      for (const place of this.#places()) {
        const row = this.#row(place);
        if (after === undefined || this.#isAfter(row, after)) yield row;
      }
      return;
    }
    this.spill();
    this.#pages.length = 0;
    yield* this.#merged(this.#openFile(), after);
  }

  #isAfter(row: Uint8Array, key: Uint8Array): boolean {
    return compareBytes(row.subarray(0, this.#keyBytes), key) > 0;
  }

  /** Position of the first row with a greater key between two positions of the file; `end` if there is none. */
  #firstAfter(file: RowFile, from: number, end: number, key: Uint8Array): number {
    const row = new Uint8Array(this.#rowBytes);
    let [low, high] = [0, (end - from) / this.#rowBytes];
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      file.read(row, from + middle * this.#rowBytes);
      if (this.#isAfter(row, key)) high = middle;
      else low = middle + 1;
    }
    return from + low * this.#rowBytes;
  }

  *#merged(file: RowFile, after: Uint8Array | undefined): Generator<Uint8Array> {
    const wanted = Math.floor(MERGE_BYTES / this.#runs.length);
    const bufferBytes = Math.min(MAX_RUN_BUFFER, Math.max(MIN_RUN_BUFFER, wanted));
    const bufferRows = Math.max(1, Math.floor(bufferBytes / this.#rowBytes));
    const runs = this.#runs.flatMap(({ endBytes }, index) => {
      const start = this.#runs[index - 1]?.endBytes ?? 0;
      const from = after === undefined ? start : this.#firstAfter(file, start, endBytes, after);
      return from === endBytes ? [] : [new Run(file, from, endBytes, this.#rowBytes, bufferRows)];
    });
    const heap = new RunHeap(runs, this.#keyBytes);
    for (;;) {
      const { first } = heap;
      if (first === undefined) return;
      yield first.row();
      heap.advance();
    }
  }

  /** Gives the temporary file back; one that is kept stays. */
  close(): void {
    this.#file?.close();
    this.#pages.length = 0;
  }
}

/** A sorted part of the file, read in pieces. */
class Run {
  readonly #file: RowFile;
  #next: number;
  readonly #end: number;
  readonly #rowBytes: number;
  readonly buffer: Uint8Array;
  at = 0;
  #size = 0;

  constructor(file: RowFile, from: number, end: number, rowBytes: number, bufferRows: number) {
    this.#file = file;
    this.#next = from;
    this.#end = end;
    this.#rowBytes = rowBytes;
    this.buffer = new Uint8Array(Math.min(bufferRows * rowBytes, end - from));
    this.#fill();
  }

  #fill(): void {
    const size = Math.min(this.buffer.length, this.#end - this.#next);
    this.#size = this.#file.read(this.buffer.subarray(0, size), this.#next);
    this.#next += size;
    this.at = 0;
  }

  row(): Uint8Array {
    return this.buffer.subarray(this.at, this.at + this.#rowBytes);
  }

  /** @returns whether there is another row */
  advance(): boolean {
    this.at += this.#rowBytes;
    if (this.at < this.#size) return true;
    if (this.#next === this.#end) return false;
    this.#fill();
    return true;
  }
}

/** A binary heap of runs by their next rows. */
class RunHeap {
  readonly #runs: Run[];
  readonly #keyBytes: number;

  constructor(runs: Run[], keyBytes: number) {
    this.#runs = runs;
    this.#keyBytes = keyBytes;
    for (let i = (runs.length >> 1) - 1; i >= 0; i--) this.#sink(i);
  }

  get first(): Run | undefined {
    return this.#runs[0];
  }

  /** Advances to the next row of the first run. */
  advance(): void {
    const runs = this.#runs;
    if (!runs[0]!.advance()) {
      const last = runs.pop()!;
      if (runs.length === 0) return;
      runs[0] = last;
    }
    this.#sink(0);
  }

  #sink(start: number): void {
    const runs = this.#runs;
    const run = runs[start]!;
    let place = start;
    for (;;) {
      let child = 2 * place + 1;
      if (child >= runs.length) break;
      if (child + 1 < runs.length && this.#isLess(runs[child + 1]!, runs[child]!)) child++;
      if (!this.#isLess(runs[child]!, run)) break;
      runs[place] = runs[child]!;
      place = child;
    }
    runs[place] = run;
  }

  #isLess(a: Run, b: Run): boolean {
    for (let i = 0; i < this.#keyBytes; i++) {
      const difference = a.buffer[a.at + i]! - b.buffer[b.at + i]!;
      if (difference !== 0) return difference < 0;
    }
    return false;
  }
}
