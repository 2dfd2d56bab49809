import { bigintToBytes, bytesToBigint, EMPTY_BYTES } from "./bytes.ts";
import { CodedError } from "./errors.ts";

/** A decoded RLP item: a byte string or a list. */
export type RlpItem = Uint8Array | readonly RlpItem[];

export type RlpErrorCode =
  | "rlp/truncated"
  | "rlp/trailing-bytes"
  | "rlp/non-canonical-length"
  | "rlp/non-canonical-byte"
  | "rlp/too-deep"
  | "rlp/length-too-large"
  | "rlp/expected-list"
  | "rlp/expected-string"
  | "rlp/wrong-item-count"
  | "rlp/non-canonical-integer"
  | "rlp/integer-too-large"
  | "rlp/wrong-string-length";

/** Consensus data nests at most five levels deep (a block's access lists); anything deeper is an attack on the stack. */
const MAX_DEPTH = 64;

const FIRST_SCRATCH_BYTES = 16_384;
/** A scratch buffer larger than this is not kept for the next item. */
const MAX_KEPT_SCRATCH_BYTES = 8_388_608;
/** Shorter strings are copied byte by byte. PERF: calling `set` costs as much as copying forty bytes. */
const SET_FROM_BYTES = 48;
const SIX_BYTES = 1n << 48n;

/**
 * Writes RLP back to front, because the header of a list needs the list's size: one pass, no arrays of items. Fields are written
 * last to first, and a list's header after its fields.
 */
export class RlpWriter {
  #bytes = new Uint8Array(FIRST_SCRATCH_BYTES);
  #at = FIRST_SCRATCH_BYTES;

  /** Discards the written bytes and starts over. */
  start(): void {
    this.#at = this.#bytes.length;
  }

  /** Number of bytes written. Store it before writing a list's fields, and pass it to `list`. */
  get size(): number {
    return this.#bytes.length - this.#at;
  }

  #reserve(count: number): number {
    if (this.#at < count) this.#grow(count);
    this.#at -= count;
    return this.#at;
  }

  #grow(count: number): void {
    const { size } = this;
    const larger = new Uint8Array(Math.max(2 * this.#bytes.length, size + count));
    larger.set(this.#bytes.subarray(this.#at), larger.length - size);
    this.#bytes = larger;
    this.#at = larger.length - size;
  }

  /** Copies bytes that are already encoded. */
  raw(value: Uint8Array): void {
    const { length } = value;
    const at = this.#reserve(length);
    if (length >= SET_FROM_BYTES) this.#bytes.set(value, at);
    else for (let i = 0; i < length; i++) this.#bytes[at + i] = value[i]!;
  }

  byte(value: number): void {
    const at = this.#reserve(1); // may replace the buffer
    this.#bytes[at] = value;
  }

  string(value: Uint8Array): void {
    this.raw(value);
    if (value.length !== 1 || value[0]! >= 0x80) this.#header(value.length, 0x80);
  }

  /** An unsigned integer: big-endian without leading zeros, 0 is empty. */
  uint(value: bigint | number): void {
    const { size } = this;
    let left = value;
    if (typeof left === "bigint") {
      for (; left >= SIX_BYTES; left >>= 48n) {
        let low = Number(BigInt.asUintN(48, left));
        for (let i = 0; i < 6; i++, low = Math.floor(low / 256)) this.byte(low % 256);
      }
      left = Number(left);
    }
    for (; left > 0; left = Math.floor(left / 256)) this.byte(left % 256);
    const length = this.size - size;
    if (length !== 1 || this.#bytes[this.#at]! >= 0x80) this.#header(length, 0x80);
  }

  /** The header of the list that consists of everything written since `size` was `endSize`. */
  list(endSize: number): void {
    this.#header(this.size - endSize, 0xc0);
  }

  #header(length: number, offset: 0x80 | 0xc0): void {
    if (length < 56) {
      this.byte(offset + length);
      return;
    }
    let lengthBytes = 0;
    for (let rest = length; rest > 0; rest = Math.floor(rest / 256), lengthBytes++) this.byte(rest % 256);
    this.byte(offset + 55 + lengthBytes);
  }

  item(item: RlpItem): void {
    if (item instanceof Uint8Array) {
      this.string(item);
      return;
    }
    const { size } = this;
    for (let i = item.length - 1; i >= 0; i--) this.item(item[i]!);
    this.list(size);
  }

  /** A view of the written bytes, valid until the next write. */
  view(): Uint8Array<ArrayBuffer> {
    return this.#bytes.subarray(this.#at);
  }

  /** A copy of the written bytes; starts over. */
  take(): Uint8Array<ArrayBuffer> {
    const taken = this.#bytes.slice(this.#at);
    if (this.#bytes.length > MAX_KEPT_SCRATCH_BYTES) this.#bytes = new Uint8Array(FIRST_SCRATCH_BYTES);
    this.start();
    return taken;
  }
}

const writer = new RlpWriter();

/** Canonical RLP of a string or (nested) list. */
export function encodeRlp(item: RlpItem): Uint8Array {
  writer.start();
  writer.item(item);
  return writer.take();
}

/** RLP string form of an unsigned integer: big-endian without leading zeros, 0 is empty. */
export function rlpUint(value: bigint | number): Uint8Array {
  if (value === 0 || value === 0n) return EMPTY_BYTES;
  return bigintToBytes(BigInt(value));
}

/** Wraps items that are already encoded into a list, without decoding them. */
export function encodeRlpListOfEncoded(encodedItems: readonly Uint8Array[]): Uint8Array {
  writer.start();
  for (let i = encodedItems.length - 1; i >= 0; i--) writer.raw(encodedItems[i]!);
  writer.list(0);
  return writer.take();
}

/** Position of an item in its input: header at `start`, payload from `dataStart` to `end`. */
export interface RlpSpan {
  readonly isList: boolean;
  readonly start: number;
  readonly dataStart: number;
  readonly end: number;
}

/**
 * Reads the header of the item at `start` and rejects non-canonical encodings.
 *
 * @throws {CodedError} rlp/truncated, rlp/non-canonical-length, rlp/non-canonical-byte, rlp/length-too-large
 */
export function readRlpSpan(input: Uint8Array, start: number, limit: number = input.length): RlpSpan {
  const prefix = input[start];
  if (prefix === undefined || start >= limit) throw new CodedError<RlpErrorCode>("rlp/truncated", { position: start });
  if (prefix < 0x80) return { isList: false, start, dataStart: start, end: start + 1 };
  const isList = prefix >= 0xc0;
  const short = prefix - (isList ? 0xc0 : 0x80);
  if (short < 56) {
    const end = start + 1 + short;
    if (end > limit) throw new CodedError<RlpErrorCode>("rlp/truncated", { position: start });
    if (!isList && short === 1 && input[start + 1]! < 0x80) {
      throw new CodedError<RlpErrorCode>("rlp/non-canonical-byte", { position: start });
    }
    return { isList, start, dataStart: start + 1, end };
  }
  const lengthSize = short - 55;
  const dataStart = start + 1 + lengthSize;
  if (dataStart > limit) throw new CodedError<RlpErrorCode>("rlp/truncated", { position: start });
  if (input[start + 1] === 0) throw new CodedError<RlpErrorCode>("rlp/non-canonical-length", { position: start });
  let length = 0;
  for (let i = 0; i < lengthSize; i++) length = length * 256 + input[start + 1 + i]!;
  if (!Number.isSafeInteger(length)) throw new CodedError<RlpErrorCode>("rlp/length-too-large", { position: start });
  if (length < 56) throw new CodedError<RlpErrorCode>("rlp/non-canonical-length", { position: start });
  const end = dataStart + length;
  if (end > limit) throw new CodedError<RlpErrorCode>("rlp/truncated", { position: start });
  return { isList, start, dataStart, end };
}

function readItem(input: Uint8Array, span: RlpSpan, depth: number): RlpItem {
  if (!span.isList) return input.subarray(span.dataStart, span.end);
  if (depth >= MAX_DEPTH) throw new CodedError<RlpErrorCode>("rlp/too-deep", { maxDepth: MAX_DEPTH });
  const items: RlpItem[] = [];
  for (let at = span.dataStart; at < span.end; ) {
    const child = readRlpSpan(input, at, span.end);
    items.push(readItem(input, child, depth + 1));
    at = child.end;
  }
  return items;
}

/**
 * Decodes exactly one item that fills the whole input. Strings are views into `input`, not copies.
 *
 * @throws {CodedError} rlp/*: truncated, trailing bytes, not canonical, nested too deep
 */
export function decodeRlp(input: Uint8Array): RlpItem {
  const { item, end } = decodeRlpPrefix(input, 0);
  if (end !== input.length) throw new CodedError<RlpErrorCode>("rlp/trailing-bytes", { count: input.length - end });
  return item;
}

/** Decodes the item at `offset`; `end` is the position after it. @throws {CodedError} rlp/* */
export function decodeRlpPrefix(input: Uint8Array, offset: number): { item: RlpItem; end: number } {
  const span = readRlpSpan(input, offset);
  return { item: readItem(input, span, 0), end: span.end };
}

/** @throws {CodedError} rlp/expected-list, rlp/wrong-item-count */
export function expectRlpList(item: RlpItem | undefined, minItems = 0, maxItems = Number.POSITIVE_INFINITY): readonly RlpItem[] {
  if (item === undefined || item instanceof Uint8Array) throw new CodedError<RlpErrorCode>("rlp/expected-list");
  if (item.length < minItems || item.length > maxItems) {
    throw new CodedError<RlpErrorCode>("rlp/wrong-item-count", { got: item.length, min: minItems });
  }
  return item;
}

/** A byte string, of exactly `length` bytes if given. @throws {CodedError} rlp/expected-string, rlp/wrong-string-length */
export function expectRlpString(item: RlpItem | undefined, length?: number): Uint8Array {
  if (!(item instanceof Uint8Array)) throw new CodedError<RlpErrorCode>("rlp/expected-string");
  if (length !== undefined && item.length !== length) {
    throw new CodedError<RlpErrorCode>("rlp/wrong-string-length", { expected: length, got: item.length });
  }
  return item;
}

/**
 * An unsigned integer of at most `maxBytes` bytes (8 for uint64, 32 for uint256).
 *
 * @throws {CodedError} rlp/expected-string, rlp/non-canonical-integer (leading zero), rlp/integer-too-large
 */
export function expectRlpUint(item: RlpItem | undefined, maxBytes: number): bigint {
  const bytes = expectRlpString(item);
  if (bytes.length > maxBytes) throw new CodedError<RlpErrorCode>("rlp/integer-too-large", { maxBytes, got: bytes.length });
  if (bytes[0] === 0) throw new CodedError<RlpErrorCode>("rlp/non-canonical-integer");
  return bytesToBigint(bytes);
}

/** An unsigned integer that fits a JavaScript number (block numbers, timestamps). @throws {CodedError} as `expectRlpUint` */
export function expectRlpNumber(item: RlpItem | undefined): number {
  const value = Number(expectRlpUint(item, 8));
  if (!Number.isSafeInteger(value)) throw new CodedError<RlpErrorCode>("rlp/integer-too-large", { maxBytes: 6 });
  return value;
}
