import { atPlace, damaged, Malformed, RethDataError } from "../errors.ts";
import { u32, u64 } from "../files/little-endian.ts";
import { ReadFile, readSmallFile } from "../files/read-file.ts";
import { decompressLz4 } from "./lz4.ts";

const VERSION = 1;
const HEADERS_SEGMENT = 0;
const LZ4 = 1;
/** Header, total difficulty, hash. */
const COLUMNS = 3;
const HASH_COLUMN = 2;
const OFFSET_BYTES = 8;
/** Far above a header, whose extra data has at most some hundred bytes. */
const MAX_CELL_BYTES = 64 << 10;
/** Of a file without blocks, and of one with. No file of headers has a transaction range, and each has a compressor. */
const CONFIG_BYTES = [59, 75];

/** `last` is below `first` if there are none. */
export interface BlockRange {
  readonly first: number;
  readonly last: number;
}

/**
 * One static file of headers, a NippyJar of three files: cells row by row; `.off`: 8, then the offset u64 of each cell and of the end;
 * `.conf`: what the others have. All little-endian.
 */
export class HeadersJar {
  readonly blocks: BlockRange;
  readonly #cells: ReadFile;
  readonly #offsets: ReadFile;

  /** @throws {RethDataError} reth-data/damaged, reth-data/unknown-version, reth-data/unreadable */
  constructor(path: string) {
    this.blocks = readConfig(`${path}.conf`);
    this.#cells = new ReadFile(path);
    try {
      this.#offsets = new ReadFile(`${path}.off`);
    } catch (error) {
      this.#cells.close();
      throw error;
    }
  }

  /** The header in Compact, and its hash. @param block within `blocks` @throws {RethDataError} reth-data/damaged */
  row(block: number): { readonly header: Uint8Array; readonly hash: Uint8Array } {
    const row = block - this.blocks.first;
    const place = `row ${row}`;
    const offsets = atPlace(this.#offsets.path, place, () => this.#offsetsOf(row));
    return atPlace(this.#cells.path, place, () => {
      const start = offsets[0]!;
      const cells = this.#cells.read(start, offsets[COLUMNS]! - start);
      if (cells.length < offsets[COLUMNS]! - start) throw new Malformed("the file ends before the row does");
      const cell = (column: number): Uint8Array =>
        decompressLz4(cells.subarray(offsets[column]! - start, offsets[column + 1]! - start), MAX_CELL_BYTES);
      return { header: cell(0), hash: cell(HASH_COLUMN) };
    });
  }

  close(): void {
    this.#cells.close();
    this.#offsets.close();
  }

  /** Where the cells of a row begin, and where the last ends. @throws {Malformed} */
  #offsetsOf(row: number): number[] {
    const [size] = this.#offsets.read(0, 1);
    if (size !== OFFSET_BYTES) throw new Malformed(`offsets of ${size ?? 0} bytes`);
    const count = COLUMNS + 1;
    const bytes = this.#offsets.read(1 + row * COLUMNS * OFFSET_BYTES, count * OFFSET_BYTES);
    if (bytes.length < count * OFFSET_BYTES) throw new Malformed("the file ends before the row's offsets do");
    const offsets = Array.from({ length: count }, (_, i) => u64(bytes, i * OFFSET_BYTES));
    for (let i = 1; i < count; i++) {
      const cellBytes = offsets[i]! - offsets[i - 1]!;
      if (!(cellBytes > 0 && cellBytes <= MAX_CELL_BYTES)) throw new Malformed(`a cell of ${cellBytes} bytes`);
    }
    return offsets;
  }
}

/**
 * version u64 ‖ expected first and last block, u64 each ‖ 1 ‖ first and last block, u64 each (0: no block) ‖ 0 (no transactions) ‖
 * segment u32 ‖ columns u64 ‖ rows u64 ‖ 1 ‖ compressor u32 ‖ size of the largest row u64
 */
function readConfig(path: string): BlockRange {
  const bytes = readSmallFile(path);
  if (bytes === undefined) throw damaged(path, "its place in the folder", "the file is missing");
  const version = bytes.length < 8 ? undefined : u64(bytes, 0);
  if (version !== undefined && version !== VERSION) {
    throw new RethDataError("reth-data/unknown-version", { what: `the version of ${path}`, found: version, known: VERSION });
  }
  return atPlace(path, "its start", () => {
    const blocks = bytes[24];
    if (bytes.length !== CONFIG_BYTES[blocks ?? 2])
      throw new Malformed(`${bytes.length} bytes instead of ${CONFIG_BYTES.join(" or ")}`);
    const rest = bytes.subarray(bytes.length - 34);
    const isOfHeaders = rest[0] === 0 && u32(rest, 1) === HEADERS_SEGMENT && u64(rest, 5) === COLUMNS && rest[21] === 1;
    if (!isOfHeaders) throw new Malformed("it does not describe headers");
    if (u32(rest, 22) !== LZ4) throw new Malformed(`compressor ${u32(rest, 22)} instead of ${LZ4} (LZ4)`);
    const first = u64(bytes, blocks === 0 ? 8 : 25);
    const last = blocks === 0 ? first - 1 : u64(bytes, 33);
    const rows = u64(rest, 13);
    if (rows !== last - first + 1 || !Number.isSafeInteger(last))
      throw new Malformed(`${rows} rows for blocks ${first} to ${last}`);
    return { first, last };
  });
}
