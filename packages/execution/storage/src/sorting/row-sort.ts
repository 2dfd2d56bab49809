import { RowFile } from "./row-file.ts";
import { ascendingPlaces } from "./row-order.ts";

const PAGE_ROWS = 1024;
const DEFAULT_MEMORY_BYTES = 48 << 20;
/** for all runs that are merged at the same time */
const MERGE_BYTES = 32 << 20;
const [MIN_RUN_BUFFER, MAX_RUN_BUFFER] = [16 << 10, 1 << 20] as const;

export interface RowSortOptions {
  readonly rowBytes: number;
  /** a row starts with its key */
  readonly keyBytes: number;
  /** where rows go that do not fit into memory */
  readonly folder: string;
  /** of rows in memory; default: 48 MiB */
  readonly memoryBytes?: number | undefined;
}

/** Sorted runs in a temporary file, for another thread of this process, as plain data. */
export interface SharedRows {
  readonly descriptor: number;
  readonly runEnds: readonly number[];
  readonly rowBytes: number;
  readonly keyBytes: number;
}

/**
 * Sorts any number of rows of one size with a bounded amount of memory: sorted runs are written to a temporary file, and merged
 * during reading.
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
  /** end of each sorted part of the file, which starts at the end of the one before it */
  readonly #runEnds: number[] = [];

  constructor({ rowBytes, keyBytes, folder, memoryBytes = DEFAULT_MEMORY_BYTES }: RowSortOptions) {
    this.#rowBytes = rowBytes;
    this.#keyBytes = keyBytes;
    this.#folder = folder;
    this.#maxRows = Math.max(PAGE_ROWS, Math.floor(memoryBytes / rowBytes));
  }

  /**
   * Adds a row. @returns its bytes, all zero, to be filled before the next call
   *
   * @throws {CodedError} storage/disk-full, storage/io
   */
  add(): Uint8Array {
    if (this.#rows === this.#maxRows) this.#spill();
    const place = this.#rows++;
    if (place % PAGE_ROWS === 0 && this.#pages.length <= place / PAGE_ROWS) {
      this.#pages.push(new Uint8Array(PAGE_ROWS * this.#rowBytes));
    }
    return this.#row(place).fill(0);
  }

  /** Adds rows that lie one after the other. @throws as `add` */
  addAll(rows: Uint8Array): void {
    for (let at = 0; at < rows.length; ) {
      const first = this.add();
      const room = Math.min(PAGE_ROWS - ((this.#rows - 1) % PAGE_ROWS), this.#maxRows - this.#rows + 1);
      const part = rows.subarray(at, at + room * this.#rowBytes);
      new Uint8Array(first.buffer, first.byteOffset, part.length).set(part);
      this.#rows += part.length / this.#rowBytes - 1;
      at += part.length;
    }
  }

  #row(place: number): Uint8Array {
    const at = (place % PAGE_ROWS) * this.#rowBytes;
    return this.#pages[Math.floor(place / PAGE_ROWS)]!.subarray(at, at + this.#rowBytes);
  }

  /** Writes the rows in memory to the file. */
  #spill(): void {
    if (this.#rows === 0) return;
    const file = (this.#file ??= new RowFile(this.#folder));
    for (const place of this.#places()) file.append(this.#row(place));
    file.flush();
    this.#runEnds.push(file.sizeBytes);
    this.#rows = 0;
  }

  #places(): Uint32Array {
    const rows = { pages: this.#pages, pageRows: PAGE_ROWS, rowBytes: this.#rowBytes, keyBytes: this.#keyBytes };
    return ascendingPlaces(this.#rows, rows);
  }

  /**
   * All rows in ascending order of their keys; a row is valid until the next. No row may be added afterwards, but the rows can be read again.
   *
   * @throws {CodedError} storage/disk-full, storage/io
   */
  *sorted(): Generator<Uint8Array> {
    if (this.#file === undefined) {
      for (const place of this.#places()) yield this.#row(place);
      return;
    }
    yield* merged(this.#file, this.share());
  }

  /** Whether there are more rows than fit into memory. */
  get isOnDisk(): boolean {
    return this.#file !== undefined;
  }

  /** Moves all rows to the file, for `sortedOf`. Nothing may be added afterwards, and the file must stay open. */
  share(): SharedRows {
    this.#spill();
    this.#pages.length = 0;
    const descriptor = (this.#file ??= new RowFile(this.#folder)).descriptor;
    return { descriptor, runEnds: this.#runEnds, rowBytes: this.#rowBytes, keyBytes: this.#keyBytes };
  }

  /** As `sorted`, in another thread. */
  static sortedOf(rows: SharedRows): Generator<Uint8Array> {
    return merged(RowFile.reading(rows.descriptor), rows);
  }

  /** Gives the temporary file back. */
  close(): void {
    this.#file?.close();
    this.#pages.length = 0;
  }
}

function* merged(file: RowFile, { runEnds, rowBytes, keyBytes }: SharedRows): Generator<Uint8Array> {
  const wanted = Math.floor(MERGE_BYTES / runEnds.length);
  const bufferBytes = Math.min(MAX_RUN_BUFFER, Math.max(MIN_RUN_BUFFER, wanted));
  const bufferRows = Math.max(1, Math.floor(bufferBytes / rowBytes));
  const runs = runEnds.map((end, index) => new Run(file, runEnds[index - 1] ?? 0, end, rowBytes, bufferRows));
  const heap = new RunHeap(runs, keyBytes);
  for (;;) {
    const { first } = heap;
    if (first === undefined) return;
    yield first.row();
    heap.advance();
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
