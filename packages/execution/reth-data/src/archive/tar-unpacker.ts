import { Malformed } from "../errors.ts";
import { readExtendedHeader, readSparseBlock, readTarHeader, type Segment, TAR_BLOCK_BYTES, type TarHeader } from "./tar-header.ts";

/** Where the bytes of files go. */
export interface FileSink {
  /** A file begins. @param dataBytes without the holes of a sparse file. @returns false: its bytes are not wanted */
  begin(name: string, dataBytes: number): boolean;
  /** Bytes of the file that was begun. */
  write(bytes: Uint8Array, offset: number): void;
  /** The file is complete. @param size with the holes */
  end(size: number): void;
}

interface File {
  readonly isWanted: boolean;
  readonly segments: Segment[];
  readonly size: number;
  /** of the current segment, and of the next byte in it */
  segment: number;
  at: number;
}

/** What the next bytes of an archive are, as plain data. */
interface State {
  part: "header" | "name" | "extended" | "sparse-block" | "sparse-map" | "data" | "padding" | "end";
  /** bytes that are left of a part of any size */
  left: number;
  /** of that part */
  padding: number;
  /** a block, or a name or an extended header, as far as it has come */
  pending: Uint8Array;
  longName: string | undefined;
  extended: Map<string, string>;
  /** of the file whose sparse segments follow */
  header: TarHeader | undefined;
  segments: Segment[];
  file: File | undefined;
}

/** Of a name or an extended header. */
const MAX_META_BYTES = 1 << 20;
/** 24 bytes each, and a file that is more fragmented than that is no database. */
const MAX_SEGMENTS = 1 << 22;

/**
 * Reads the bytes of a tar archive as they come, with formats of POSIX and GNU, sparse files included. Its state is plain data: another process
 * can go on from there.
 */
export class TarUnpacker {
  readonly #sink: FileSink;
  readonly #state: State;

  /** @param state of an earlier one whose sink has all that it was given */
  constructor(sink: FileSink, state?: unknown) {
    this.#sink = sink;
    this.#state = (state as State | undefined) ?? {
      part: "header",
      left: TAR_BLOCK_BYTES,
      padding: 0,
      pending: new Uint8Array(0),
      longName: undefined,
      extended: new Map(),
      header: undefined,
      segments: [],
      file: undefined,
    };
  }

  get state(): unknown {
    return this.#state;
  }

  /** Whether no part of the archive is missing; some programs leave the empty blocks at its end out. */
  get isComplete(): boolean {
    const { part, pending } = this.#state;
    return part === "end" || (part === "header" && pending.length === 0);
  }

  /** @throws {Malformed} and what the sink throws */
  push(bytes: Uint8Array): void {
    const state = this.#state;
    for (let at = 0; at < bytes.length && state.part !== "end"; ) {
      const size = Math.min(bytes.length - at, state.left);
      const piece = bytes.subarray(at, at + size);
      at += size;
      state.left -= size;
      if (state.part === "data") this.#data(piece);
      else if (state.part !== "padding") state.pending = joined(state.pending, piece);
      while (state.left === 0 && this.#isNext());
    }
  }

  /** Ends a part. @returns whether the one after it may be empty */
  #isNext(): boolean {
    const state = this.#state;
    const { part, pending } = state;
    if (part === "data" || part === "name" || part === "extended") {
      if (part === "data") this.#endFile();
      if (part === "name") state.longName = Buffer.from(pending).toString("utf8").replace(/\0.*$/s, "");
      if (part === "extended") for (const [key, value] of readExtendedHeader(pending)) state.extended.set(key, value);
      this.#expect("padding", state.padding);
      return true;
    }
    state.pending = new Uint8Array(0);
    if (part === "header") return this.#header(pending);
    if (part === "sparse-block") return this.#sparseBlock(pending);
    if (part === "sparse-map") return this.#sparseMap(pending);
    if (part === "padding") this.#expect("header", TAR_BLOCK_BYTES);
    return false;
  }

  #expect(part: State["part"], left: number): void {
    this.#state.part = part;
    this.#state.left = left;
    this.#state.pending = new Uint8Array(0);
  }

  #header(block: Uint8Array): boolean {
    const header = readTarHeader(block);
    const state = this.#state;
    if (header === undefined) {
      this.#expect("end", Number.POSITIVE_INFINITY);
      return false;
    }
    state.padding = paddingOf(header.size);
    if (header.type === "L" || header.type === "x" || header.type === "g" || header.type === "K") {
      if (header.size > MAX_META_BYTES) throw new Malformed(`a name or an extended header of ${header.size} bytes`);
      this.#expect(header.type === "L" ? "name" : header.type === "x" ? "extended" : "padding", header.size);
      if (state.part === "padding") state.left += state.padding; // global headers and names of links are of no use
      return true;
    }
    if (state.extended.get("GNU.sparse.major") === "0" || state.extended.has("GNU.sparse.numblocks"))
      throw new Malformed("a sparse file in form 0 of POSIX headers: make the archive with tar --sparse-version=1.0");
    state.header = header;
    state.segments = [...(header.sparse?.segments ?? [])];
    if (header.sparse?.isExtended === true) this.#expect("sparse-block", TAR_BLOCK_BYTES);
    else if (state.extended.get("GNU.sparse.major") === "1") this.#expect("sparse-map", TAR_BLOCK_BYTES);
    else this.#beginFile(0);
    return true;
  }

  #sparseBlock(block: Uint8Array): boolean {
    const { segments, isExtended } = readSparseBlock(block);
    this.#addSegments(segments);
    if (isExtended) this.#expect("sparse-block", TAR_BLOCK_BYTES);
    else this.#beginFile(0);
    return true;
  }

  /** POSIX form 1.0 of sparse files: decimal lines before the data, the number of segments, then offset and size of each; padded. */
  #sparseMap(text: Uint8Array): boolean {
    const state = this.#state;
    const lines = Buffer.from(text).toString("latin1").split("\n").slice(0, -1);
    const count = Number(lines[0]);
    if (lines.length > 0 && (!Number.isSafeInteger(count) || count < 0 || count > MAX_SEGMENTS))
      throw new Malformed(`a sparse file of ${lines[0]} parts`);
    if (lines.length === 0 || lines.length < 1 + 2 * count) {
      if (text.length > state.header!.size) throw new Malformed("a sparse file whose list of parts does not end");
      state.left = TAR_BLOCK_BYTES;
      state.pending = text; // the list goes on
      return false;
    }
    const numbers = lines.slice(1, 1 + 2 * count).map(Number);
    this.#addSegments(Array.from({ length: count }, (_, i) => ({ offset: numbers[2 * i]!, size: numbers[2 * i + 1]! })));
    this.#beginFile(text.length);
    return true;
  }

  #addSegments(segments: readonly Segment[]): void {
    const all = this.#state.segments;
    if (all.length + segments.length > MAX_SEGMENTS) throw new Malformed("a sparse file of too many parts");
    for (const segment of segments) all.push(segment);
  }

  /** @param read bytes of its data that were not those of the file */
  #beginFile(read: number): void {
    const state = this.#state;
    const { name, type, size, sparse } = state.header!;
    const { longName, extended } = state;
    const dataBytes = Number(extended.get("size") ?? size) - read;
    const realName = extended.get("GNU.sparse.name") ?? extended.get("path") ?? longName ?? name;
    const realSize = Number(extended.get("GNU.sparse.realsize") ?? sparse?.realSize ?? dataBytes);
    if (!Number.isSafeInteger(dataBytes) || dataBytes < 0 || !Number.isSafeInteger(realSize)) {
      throw new Malformed(`${JSON.stringify(realName)} with a size of ${dataBytes} bytes`);
    }
    const isSparse = sparse !== undefined || extended.has("GNU.sparse.major");
    const segments = isSparse ? state.segments : [{ offset: 0, size: dataBytes }];
    checkSegments(segments, dataBytes, realSize, realName);
    const isFile = type === "0" || type === "7" || type === "S";
    const isWanted = isFile && this.#sink.begin(realName, dataBytes);
    state.file = { isWanted, segments, size: realSize, segment: 0, at: 0 };
    state.padding = paddingOf(dataBytes);
    state.longName = undefined;
    state.extended = new Map();
    state.header = undefined;
    state.segments = [];
    this.#expect("data", dataBytes);
  }

  #data(bytes: Uint8Array): void {
    const file = this.#state.file!;
    if (!file.isWanted) return;
    for (let from = 0; from < bytes.length; ) {
      const segment = file.segments[file.segment]!;
      const size = Math.min(segment.size - file.at, bytes.length - from);
      if (size > 0) this.#sink.write(bytes.subarray(from, from + size), segment.offset + file.at);
      from += size;
      file.at += size;
      if (file.at < segment.size) continue;
      file.segment++;
      file.at = 0;
    }
  }

  #endFile(): void {
    const { file } = this.#state;
    if (file?.isWanted === true) this.#sink.end(file.size);
    this.#state.file = undefined;
  }
}

/** @throws {Malformed} */
function checkSegments(segments: readonly Segment[], dataBytes: number, realSize: number, name: string): void {
  let end = 0;
  let sum = 0;
  for (const { offset, size } of segments) {
    if (!Number.isSafeInteger(offset + size) || size < 0 || offset < end)
      throw new Malformed(`${JSON.stringify(name)} has parts out of order`);
    end = offset + size;
    sum += size;
  }
  if (sum !== dataBytes || end > realSize) throw new Malformed(`the parts of ${JSON.stringify(name)} do not have its size`);
}

const paddingOf = (size: number): number => (TAR_BLOCK_BYTES - (size % TAR_BLOCK_BYTES)) % TAR_BLOCK_BYTES;

function joined(a: Uint8Array, b: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(a.length + b.length);
  bytes.set(a);
  bytes.set(b, a.length);
  return bytes;
}
