import type { PrecompileExports } from "../engine/module.ts";

/** Bits a limb of assembly/precompiles/modexp.ts, seven hexadecimal digits; each is an u32. */
export const LIMB_BITS = 28;
const LIMB_DIGITS = LIMB_BITS / 4;

function writeLimbs(view: DataView, at: number, value: bigint, limbs: number): void {
  const digits = value.toString(16).padStart(LIMB_DIGITS * limbs, "0");
  for (let limb = 0; limb < limbs; limb++) {
    const end = digits.length - LIMB_DIGITS * limb;
    view.setUint32(at + 4 * limb, Number.parseInt(digits.slice(end - LIMB_DIGITS, end), 16), true);
  }
}

function readLimbs(view: DataView, at: number, limbs: number): bigint {
  let digits = "0x";
  for (let limb = limbs - 1; limb >= 0; limb--)
    digits += view
      .getUint32(at + 4 * limb, true)
      .toString(16)
      .padStart(LIMB_DIGITS, "0");
  return BigInt(digits);
}

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

  /** base ^ exponent mod an odd modulus, or mod 2^(28·limbs). Numbers fit in `limbs` limbs of 28 bits, the base is below the modulus. */
  power(base: bigint, exponent: Uint8Array, modulus: bigint | undefined, limbs: number): bigint {
    const size = 4 * limbs;
    this.#reserve(3 * size + exponent.length);
    const shift = modulus === undefined ? 0n : BigInt(LIMB_BITS * limbs);
    const form = (value: bigint) => (modulus === undefined ? value : (value << shift) % modulus);
    const view = new DataView(this.exports.memory.buffer);
    for (const [index, value] of [modulus ?? 0n, form(1n), form(base)].entries()) {
      writeLimbs(view, this.buffer + index * size, value, limbs);
    }
    this.#memory.set(exponent, this.buffer + 3 * size);
    if (this.exports.modexp(this.buffer, limbs, exponent.length) === 0) throw new RangeError(`modexp of ${limbs} limbs`);
    return readLimbs(view, this.buffer, limbs);
  }

  /** A copy of the buffer's first bytes. */
  read(length: number): Uint8Array {
    return this.#memory.slice(this.buffer, this.buffer + length);
  }
}
