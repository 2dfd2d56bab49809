import { CodedError } from "@rnode/primitives";

type ByteCursorErrorCode = "cursor/truncated" | "cursor/bad-uvarint" | "cursor/bad-bitlist";

const MAX_UINT64 = 0xffff_ffff_ffff_ffffn;

/** Reads a byte string from the front. The results are views, not copies. */
export class ByteCursor {
  readonly input: Uint8Array;
  position: number;

  constructor(input: Uint8Array, position = 0) {
    this.input = input;
    this.position = position;
  }

  get remaining(): number {
    return this.input.length - this.position;
  }

  /** @throws {CodedError} cursor/truncated */
  take(length: number): Uint8Array {
    if (length > this.remaining) throw new CodedError<ByteCursorErrorCode>("cursor/truncated", { position: this.position, length });
    const start = this.position;
    this.position += length;
    return this.input.subarray(start, this.position);
  }

  /** @throws {CodedError} cursor/truncated */
  byte(): number {
    const value = this.input[this.position];
    if (value === undefined) throw new CodedError<ByteCursorErrorCode>("cursor/truncated", { position: this.position, length: 1 });
    this.position++;
    return value;
  }

  /**
   * LEB128 unsigned integer of at most 64 bits. Over-long encodings are accepted, as in op-node.
   *
   * @throws {CodedError} cursor/truncated, cursor/bad-uvarint
   */
  uvarint(): bigint {
    const start = this.position;
    // PERF: up to 7 groups (49 bits) stay in a number
    let small = 0;
    let scale = 1;
    for (let i = 0; i < 7; i++) {
      const byte = this.byte();
      small += (byte & 0x7f) * scale;
      if (byte < 0x80) return BigInt(small);
      scale *= 128;
    }
    let value = BigInt(small);
    for (let shift = 49n; ; shift += 7n) {
      const byte = this.byte();
      value |= BigInt(byte & 0x7f) << shift;
      if (value > MAX_UINT64) throw new CodedError<ByteCursorErrorCode>("cursor/bad-uvarint", { position: start });
      if (byte < 0x80) return value;
      if (this.position - start >= 10) throw new CodedError<ByteCursorErrorCode>("cursor/bad-uvarint", { position: start });
    }
  }

  /**
   * A bitlist: a big-endian integer of ceil(length / 8) bytes in which bit i has the weight 2^i.
   *
   * @throws {CodedError} cursor/truncated, cursor/bad-bitlist (a bit above `length` is set)
   */
  bitlist(length: number): boolean[] {
    const bytes = this.take(Math.ceil(length / 8));
    const spare = bytes.length * 8 - length;
    if (spare > 0 && bytes[0]! >> (8 - spare) !== 0) {
      throw new CodedError<ByteCursorErrorCode>("cursor/bad-bitlist", { position: this.position - bytes.length, length });
    }
    const bits: boolean[] = new Array(length);
    for (let i = 0; i < length; i++) bits[i] = ((bytes[bytes.length - 1 - (i >> 3)]! >> (i & 7)) & 1) === 1;
    return bits;
  }
}

/** LEB128. */
export function encodeUvarint(value: bigint | number): Uint8Array {
  const bytes: number[] = [];
  let rest = BigInt(value);
  while (rest >= 0x80n) {
    bytes.push(Number(rest & 0x7fn) | 0x80);
    rest >>= 7n;
  }
  bytes.push(Number(rest));
  return Uint8Array.from(bytes);
}

/** The inverse of `ByteCursor.bitlist`. */
export function encodeBitlist(bits: readonly boolean[]): Uint8Array {
  const bytes = new Uint8Array(Math.ceil(bits.length / 8));
  for (let i = 0; i < bits.length; i++) if (bits[i]) bytes[bytes.length - 1 - (i >> 3)]! |= 1 << (i & 7);
  return bytes;
}

/** Like `concatBytes`, but for any number of parts (the stack limits the number of arguments). */
export function joinBytes(parts: readonly Uint8Array[]): Uint8Array {
  const joined = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    joined.set(part, at);
    at += part.length;
  }
  return joined;
}
