import { bytesToBigint } from "@rnode/primitives";
import { Malformed } from "../errors.ts";

/**
 * Reads a structure of Reth's Compact encoding: flags of all fields, packed from the lowest bit of the first byte and rounded up to bytes,
 * then the fields. Flags: u64 4 bits and U256 6 (the number of bytes), Option 1; arrays of fixed size have none. Numbers are big-endian
 * without leading zeros. Each method throws `Malformed` if the bytes end early.
 */
export class CompactReader {
  readonly #bytes: Uint8Array;
  #flag = 0;
  #at: number;

  /** @param flagBytes size of the flags of all fields */
  constructor(bytes: Uint8Array, flagBytes: number) {
    if (bytes.length < flagBytes) throw new Malformed("a structure without flags");
    this.#bytes = bytes;
    this.#at = flagBytes;
  }

  /** The next flag, of up to 8 bits. */
  flag(bits: number): number {
    const byte = this.#flag >> 3;
    const pair = this.#bytes[byte]! | ((this.#bytes[byte + 1] ?? 0) << 8);
    const value = (pair >> (this.#flag & 7)) & ((1 << bits) - 1);
    this.#flag += bits;
    return value;
  }

  /** The next `size` bytes, a view. */
  fixed(size: number): Uint8Array {
    const end = this.#at + size;
    if (end > this.#bytes.length) throw new Malformed("a structure ends within a field");
    const field = this.#bytes.subarray(this.#at, end);
    this.#at = end;
    return field;
  }

  number(size: number): bigint {
    if (size > 32) throw new Malformed(`a number of ${size} bytes`);
    return bytesToBigint(this.fixed(size));
  }

  /** A field whose size stands before it, 7 bits a byte, the lowest first: the form of an Option of anything but a fixed array. */
  sized(): Uint8Array {
    let size = 0;
    for (let shift = 0; shift < 28; shift += 7) {
      const byte = this.fixed(1)[0]!;
      size |= (byte & 0x7f) << shift;
      if (byte < 0x80) return this.fixed(size);
    }
    throw new Malformed("the size of a field is too long");
  }

  /** What no field has taken, a view. */
  rest(): Uint8Array {
    return this.#bytes.subarray(this.#at);
  }
}
