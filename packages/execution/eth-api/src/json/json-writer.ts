import { JsonText } from "@rnode/jsonrpc";
import { asciiToBytes } from "@rnode/primitives";

const FIRST_BYTES = 64 * 1024;
/** A larger buffer is not kept for the next answer. */
const MAX_KEPT_BYTES = 8 * 1024 * 1024;
/** PERF: a shorter answer is sent fastest as one string with its head, a longer one as bytes. */
export const LONG_BYTES = 256 * 1024;
const DIGITS = asciiToBytes("0123456789abcdef");
/** The two digits of each byte, the first one in the low bits. */
const PAIRS = Uint16Array.from({ length: 256 }, (_, byte) => DIGITS[byte >> 4]! | (DIGITS[byte & 15]! << 8));
const QUOTE = 0x22;
const ZERO = 0x30;
const X = 0x78;

/** Writes JSON of ASCII characters into one buffer, from bytes and without objects. */
export class JsonWriter {
  #buffer = Buffer.allocUnsafeSlow(FIRST_BYTES);
  #at = 0;

  /** How many characters there are. */
  get size(): number {
    return this.#at;
  }

  /** Discards the text from `size` on. */
  start(size = 0): void {
    this.#at = size;
  }

  #reserve(count: number): Buffer {
    if (this.#at + count > this.#buffer.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(2 * this.#buffer.length, this.#at + count));
      this.#buffer.copy(larger, 0, 0, this.#at);
      this.#buffer = larger;
    }
    return this.#buffer;
  }

  /** Characters as they are. */
  raw(ascii: Uint8Array): void {
    const { length } = ascii;
    const buffer = this.#reserve(length);
    let at = this.#at;
    if (length > 64) buffer.set(ascii, at);
    else for (let i = 0; i < length; i++) buffer[at++] = ascii[i]!;
    this.#at += length;
  }

  text(ascii: string): void {
    const { length } = ascii;
    const buffer = this.#reserve(length);
    for (let i = 0; i < length; i++) buffer[this.#at++] = ascii.charCodeAt(i);
  }

  char(code: number): void {
    this.#reserve(1)[this.#at++] = code;
  }

  /** `0x` and two digits for each byte, without quotes. */
  hex(bytes: Uint8Array, from: number, to: number): void {
    const buffer = this.#reserve(2 + 2 * (to - from));
    let at = this.#at;
    buffer[at++] = ZERO;
    buffer[at++] = X;
    for (let i = from; i < to; i++) {
      const pair = PAIRS[bytes[i]!]!;
      buffer[at] = pair;
      buffer[at + 1] = pair >> 8;
      at += 2;
    }
    this.#at = at;
  }

  /** A big-endian integer as a quantity, without quotes. */
  quantity(bytes: Uint8Array, from: number, to: number): void {
    let start = from;
    while (start < to && bytes[start] === 0) start++;
    const buffer = this.#reserve(3 + 2 * (to - start));
    let at = this.#at;
    buffer[at++] = ZERO;
    buffer[at++] = X;
    if (start === to) buffer[at++] = ZERO;
    else {
      const first = bytes[start]!;
      if (first > 15) buffer[at++] = DIGITS[first >> 4]!;
      buffer[at++] = DIGITS[first & 15]!;
      for (let i = start + 1; i < to; i++) {
        const pair = PAIRS[bytes[i]!]!;
        buffer[at] = pair;
        buffer[at + 1] = pair >> 8;
        at += 2;
      }
    }
    this.#at = at;
  }

  /** A quantity below 2^32, without quotes. */
  number(value: number): void {
    const buffer = this.#reserve(10);
    let at = this.#at;
    buffer[at++] = ZERO;
    buffer[at++] = X;
    let shift = 28;
    while (shift > 0 && value >>> shift === 0) shift -= 4;
    for (; shift >= 0; shift -= 4) buffer[at++] = DIGITS[(value >>> shift) & 15]!;
    this.#at = at;
  }

  quote(): void {
    this.#reserve(1)[this.#at++] = QUOTE;
  }

  /** The text from `from` on. */
  string(from = 0): string {
    return this.#buffer.toString("latin1", from, this.#at);
  }

  /** All that was written; starts over. */
  take(): string {
    const text = this.string();
    this.#startOver();
    return text;
  }

  /** The same as bytes, between `start` and `end`. */
  takeBytes(start = "", end = ""): Buffer {
    const bytes = Buffer.allocUnsafe(start.length + this.#at + end.length);
    bytes.write(start, 0, "latin1");
    bytes.set(this.#buffer.subarray(0, this.#at), start.length);
    bytes.write(end, start.length + this.#at, "latin1");
    this.#startOver();
    return bytes;
  }

  /** The same as a result. */
  takeJson(): JsonText {
    return new JsonText(this.#at < LONG_BYTES ? this.take() : this.takeBytes());
  }

  #startOver(): void {
    this.#at = 0;
    if (this.#buffer.length > MAX_KEPT_BYTES) this.#buffer = Buffer.allocUnsafeSlow(FIRST_BYTES);
  }
}
