import { bigintToBytes, bytesToBigint, concatBytes, EMPTY_BYTES } from "./bytes.ts";
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

/** Consensus data nests at most five deep (a block's access lists); anything deeper is an attack on the stack. */
const MAX_DEPTH = 64;

/** RLP header of a string (`offset` 0x80) or list (`offset` 0xc0) of `length` payload bytes. */
function encodeHeader(length: number, offset: 0x80 | 0xc0): Uint8Array {
  if (length < 56) return Uint8Array.of(offset + length);
  const lengthBytes = bigintToBytes(BigInt(length));
  return concatBytes(Uint8Array.of(offset + 55 + lengthBytes.length), lengthBytes);
}

function encodedSize(item: RlpItem): number {
  if (item instanceof Uint8Array) {
    if (item.length === 1 && item[0]! < 0x80) return 1;
    return headerSize(item.length) + item.length;
  }
  const payload = payloadSize(item);
  return headerSize(payload) + payload;
}

function payloadSize(items: readonly RlpItem[]): number {
  let size = 0;
  for (const item of items) size += encodedSize(item);
  return size;
}

function headerSize(length: number): number {
  if (length < 56) return 1;
  let size = 1;
  for (let rest = length; rest > 0; rest = Math.floor(rest / 256)) size++;
  return size;
}

/** Canonical RLP of a string or (nested) list. */
export function encodeRlp(item: RlpItem): Uint8Array {
  const out = new Uint8Array(encodedSize(item));
  writeItem(item, out, 0);
  return out;
}

function writeItem(item: RlpItem, out: Uint8Array, at: number): number {
  if (item instanceof Uint8Array) {
    if (item.length === 1 && item[0]! < 0x80) {
      out[at] = item[0]!;
      return at + 1;
    }
    const dataAt = writeHeader(item.length, 0x80, out, at);
    out.set(item, dataAt);
    return dataAt + item.length;
  }
  let end = writeHeader(payloadSize(item), 0xc0, out, at);
  for (const child of item) end = writeItem(child, out, end);
  return end;
}

function writeHeader(length: number, offset: 0x80 | 0xc0, out: Uint8Array, at: number): number {
  if (length < 56) {
    out[at] = offset + length;
    return at + 1;
  }
  const header = encodeHeader(length, offset);
  out.set(header, at);
  return at + header.length;
}

/** RLP string form of an unsigned integer: big-endian without leading zeros, 0 is empty. */
export function rlpUint(value: bigint | number): Uint8Array {
  if (value === 0 || value === 0n) return EMPTY_BYTES;
  return bigintToBytes(BigInt(value));
}

/** Wraps already encoded items into a list, without decoding them. */
export function encodeRlpListOfEncoded(encodedItems: readonly Uint8Array[]): Uint8Array {
  let length = 0;
  for (const item of encodedItems) length += item.length;
  return concatBytes(encodeHeader(length, 0xc0), ...encodedItems);
}

/** Where an item lies in its input: header at `start`, payload from `dataStart` to `end`. */
export interface RlpSpan {
  readonly isList: boolean;
  readonly start: number;
  readonly dataStart: number;
  readonly end: number;
}

/**
 * Reads the header of the item at `start`, refusing what is not canonical.
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

/** A byte string, of exactly `length` bytes when given. @throws {CodedError} rlp/expected-string, rlp/wrong-string-length */
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
