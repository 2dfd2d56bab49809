import { CodedError } from "./errors.ts";

/**
 * A `0x`-prefixed lower-case hex string. Hashes and addresses are bytes inside the code; hex is for JSON, map keys and
 * ids.
 */
export type Hex = `0x${string}`;

export type BytesErrorCode = "bytes/not-hex" | "bytes/odd-hex" | "bytes/wrong-length" | "bytes/too-long";

export const EMPTY_BYTES = new Uint8Array(0);

const DIGIT_OF_NIBBLE = Uint8Array.from("0123456789abcdef", (digit) => digit.charCodeAt(0));

const NIBBLE_OF_CODE = new Int8Array(128).fill(-1);
for (let i = 0; i < 10; i++) NIBBLE_OF_CODE[48 + i] = i;
for (let i = 0; i < 6; i++) {
  NIBBLE_OF_CODE[65 + i] = 10 + i;
  NIBBLE_OF_CODE[97 + i] = 10 + i;
}

/** Every JavaScript engine has it, but it is not part of the language's own library (`lib.es*`). */
declare const TextDecoder: new (encoding: "latin1") => { decode(bytes: Uint8Array): string };
const latin1 = new TextDecoder("latin1");

/** Buffers for `0x` and the digits of addresses and hashes, the usual map keys. */
const addressDigits = Uint8Array.from({ length: 2 + 2 * 20 }, (_, i) => (i === 1 ? 0x78 : 0x30));
const hashDigits = Uint8Array.from({ length: 2 + 2 * 32 }, (_, i) => (i === 1 ? 0x78 : 0x30));

/**
 * `0x` followed by two lower-case digits per byte. PERF: decoding digits from bytes is four times faster than joining
 * strings.
 */
export function bytesToHex(bytes: Uint8Array): Hex {
  const { length } = bytes;
  let digits: Uint8Array;
  if (length === 32) digits = hashDigits;
  else if (length === 20) digits = addressDigits;
  else {
    digits = new Uint8Array(2 + 2 * length);
    digits[0] = 0x30;
    digits[1] = 0x78;
  }
  for (let i = 0, at = 2; i < length; i++, at += 2) {
    const byte = bytes[i]!;
    digits[at] = DIGIT_OF_NIBBLE[byte >> 4]!;
    digits[at + 1] = DIGIT_OF_NIBBLE[byte & 15]!;
  }
  return latin1.decode(digits) as Hex;
}

/**
 * The bytes of a hex string, with or without `0x`, in either case.
 *
 * @throws {CodedError} bytes/odd-hex, bytes/not-hex
 */
export function hexToBytes(hex: string): Uint8Array {
  const start = hex.startsWith("0x") || hex.startsWith("0X") ? 2 : 0;
  const digits = hex.length - start;
  if (digits % 2 !== 0) throw new CodedError<BytesErrorCode>("bytes/odd-hex", { digits });
  const bytes = new Uint8Array(digits / 2);
  for (let i = 0, at = start; i < bytes.length; i++, at += 2) {
    const high = NIBBLE_OF_CODE[hex.charCodeAt(at)] ?? -1;
    const low = NIBBLE_OF_CODE[hex.charCodeAt(at + 1)] ?? -1;
    if (high < 0 || low < 0) throw new CodedError<BytesErrorCode>("bytes/not-hex", { position: at });
    bytes[i] = (high << 4) | low;
  }
  return bytes;
}

/** Whether `hexToBytes(hex)` equals `bytes`; false if `hex` is not valid hex. PERF: allocates nothing. */
export function isHexOf(hex: string, bytes: Uint8Array): boolean {
  const start = hex.startsWith("0x") || hex.startsWith("0X") ? 2 : 0;
  if (hex.length - start !== 2 * bytes.length) return false;
  for (let i = 0, at = start; i < bytes.length; i++, at += 2) {
    const high = NIBBLE_OF_CODE[hex.charCodeAt(at)] ?? -1;
    const low = NIBBLE_OF_CODE[hex.charCodeAt(at + 1)] ?? -1;
    if (high < 0 || low < 0 || ((high << 4) | low) !== bytes[i]) return false;
  }
  return true;
}

/**
 * The bytes of a hex string that must encode exactly `length` bytes.
 *
 * @throws {CodedError} bytes/wrong-length, bytes/odd-hex, bytes/not-hex
 */
export function hexToFixedBytes(hex: string, length: number): Uint8Array {
  const bytes = hexToBytes(hex);
  if (bytes.length !== length) {
    throw new CodedError<BytesErrorCode>("bytes/wrong-length", { expected: length, got: bytes.length });
  }
  return bytes;
}

export function concatBytes(...parts: readonly Uint8Array[]): Uint8Array {
  let length = 0;
  for (const part of parts) length += part.length;
  const joined = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    joined.set(part, at);
    at += part.length;
  }
  return joined;
}

export function equalBytes(a: Uint8Array, b: Uint8Array): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}

/** Lexicographic order: negative, zero or positive. */
export function compareBytes(a: Uint8Array, b: Uint8Array): number {
  const shared = Math.min(a.length, b.length);
  for (let i = 0; i < shared; i++) {
    const difference = a[i]! - b[i]!;
    if (difference !== 0) return difference;
  }
  return a.length - b.length;
}

export function isZeroBytes(bytes: Uint8Array): boolean {
  for (let i = 0; i < bytes.length; i++) if (bytes[i] !== 0) return false;
  return true;
}

/**
 * Left-pads with zeros to `length`.
 *
 * @throws {CodedError} bytes/too-long
 */
export function padBytesLeft(bytes: Uint8Array, length: number): Uint8Array {
  if (bytes.length === length) return bytes;
  if (bytes.length > length) throw new CodedError<BytesErrorCode>("bytes/too-long", { length, got: bytes.length });
  const padded = new Uint8Array(length);
  padded.set(bytes, length - bytes.length);
  return padded;
}

/** A view without the leading zero bytes. */
export function trimBytesLeft(bytes: Uint8Array): Uint8Array {
  let start = 0;
  while (start < bytes.length && bytes[start] === 0) start++;
  return start === 0 ? bytes : bytes.subarray(start);
}

/** Big-endian unsigned integer of any number of bytes; empty is 0. */
export function bytesToBigint(bytes: Uint8Array): bigint {
  let start = 0;
  while (start < bytes.length && bytes[start] === 0) start++;
  if (bytes.length - start <= 6) {
    let small = 0;
    for (let i = start; i < bytes.length; i++) small = small * 256 + bytes[i]!;
    return BigInt(small);
  }
  return BigInt(bytesToHex(bytes));
}

const SIX_BYTES = 1n << 48n;

/** PERF: most integers are small, and converting them through text costs several times as much. */
function smallToBytes(value: number, length: number | undefined): Uint8Array {
  let size = 0;
  for (let rest = value; rest > 0; rest = Math.floor(rest / 256)) size++;
  if (length !== undefined && size > length) throw new CodedError<BytesErrorCode>("bytes/too-long", { length, got: size });
  const bytes = new Uint8Array(length ?? size);
  for (let rest = value, at = bytes.length; rest > 0; rest = Math.floor(rest / 256)) bytes[--at] = rest % 256;
  return bytes;
}

/**
 * Big-endian bytes of a non-negative integer: the minimal encoding (0 is empty) if `length` is omitted, otherwise
 * exactly `length` bytes.
 *
 * @throws {CodedError} bytes/too-long
 */
export function bigintToBytes(value: bigint, length?: number): Uint8Array {
  if (value >= 0n && value < SIX_BYTES) return smallToBytes(Number(value), length);
  const digits = value === 0n ? "" : value.toString(16);
  const bytes = hexToBytes(digits.length % 2 === 0 ? digits : `0${digits}`);
  return length === undefined ? bytes : padBytesLeft(bytes, length);
}

/** Big-endian unsigned 64-bit integer. @throws {CodedError} bytes/too-long when it does not fit */
export function uint64ToBytes(value: bigint | number): Uint8Array {
  return bigintToBytes(BigInt(value), 8);
}

const UTF8_ENCODE_LIMIT = 0x80;

/** The bytes of an ASCII string (the protocol's domain strings). @throws RangeError on any other character */
export function asciiToBytes(text: string): Uint8Array {
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code >= UTF8_ENCODE_LIMIT) throw new RangeError(`not ASCII at position ${i}: ${text}`);
    bytes[i] = code;
  }
  return bytes;
}
