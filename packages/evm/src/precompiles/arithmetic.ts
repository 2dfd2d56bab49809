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

  /** The input's first `length` bytes, zeros following when it is shorter, at the beginning of the buffer. */
  write(input: Uint8Array, length: number): void {
    if (this.exports.reserve(length) === 0) throw new Error(`no memory for a precompile's input of ${length} bytes`);
    if (this.#memory.length === 0 || this.#memory.buffer !== this.exports.memory.buffer) {
      this.#memory = new Uint8Array(this.exports.memory.buffer);
    }
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

  /** A copy of the buffer's first bytes. */
  read(length: number): Uint8Array {
    return this.#memory.slice(this.buffer, this.buffer + length);
  }
}
