import { bigintToBytes, bytesToBigint } from "@rnode/primitives";
import type { PrecompileExports } from "../engine/module.ts";

/** The big-number arithmetic in WebAssembly. Calls are synchronous and leave nothing behind; one instance serves one engine. */
export class Arithmetic {
  readonly exports: PrecompileExports;
  /** where inputs begin and outputs are left, in linear memory */
  readonly buffer: number;
  #memory: Uint8Array;

  constructor(exports: PrecompileExports) {
    this.exports = exports;
    this.buffer = exports.buffer();
    this.#memory = new Uint8Array(exports.memory.buffer);
  }

  /** Makes room for `length` bytes in the buffer. */
  #reserve(length: number): void {
    if (this.exports.reserve(length) === 0) throw new Error(`no memory for a precompile's input of ${length} bytes`);
    if (this.#memory.buffer !== this.exports.memory.buffer) this.#memory = new Uint8Array(this.exports.memory.buffer);
  }

  /** The input's first `length` bytes, zeros following when it is shorter, at the beginning of the buffer. */
  write(input: Uint8Array, length: number): void {
    this.#reserve(length);
    const wanted = input.length > length ? input.subarray(0, length) : input;
    this.#memory.set(wanted, this.buffer);
    if (wanted.length < length) this.#memory.fill(0, this.buffer + wanted.length, this.buffer + length);
  }

  /** Writes a number below 2^192 little-endian. */
  writeNumber(value: bigint, offset: number): void {
    const at = this.buffer + offset;
    const view = new DataView(this.exports.memory.buffer);
    for (let word = 0; word < 3; word++) view.setBigUint64(at + 8 * word, (value >> BigInt(64 * word)) & 0xffffffffffffffffn, true);
  }

  /** base ^ exponent mod an odd modulus, or mod 2^(32·limbs). Numbers fit in `limbs` limbs of 32 bits, the base is below the modulus. */
  power(base: bigint, exponent: Uint8Array, modulus: bigint | undefined, limbs: number): bigint {
    const size = 4 * limbs;
    this.#reserve(3 * size + exponent.length);
    const shift = modulus === undefined ? 0n : BigInt(8 * size);
    const form = (value: bigint) => (modulus === undefined ? value : (value << shift) % modulus);
    for (const [index, value] of [modulus ?? 0n, form(1n), form(base)].entries()) {
      const bytes = bigintToBytes(value, size).reverse();
      this.#memory.set(bytes, this.buffer + index * size);
    }
    this.#memory.set(exponent, this.buffer + 3 * size);
    if (this.exports.modexp(this.buffer, limbs, exponent.length) === 0) throw new RangeError(`modexp of ${limbs} limbs`);
    return bytesToBigint(this.read(size).reverse());
  }

  /** A copy of the buffer's first bytes. */
  read(length: number): Uint8Array {
    return this.#memory.slice(this.buffer, this.buffer + length);
  }
}
