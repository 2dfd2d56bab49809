export interface BufferExports {
  readonly memory: { readonly buffer: ArrayBuffer };
  /** where inputs are written and outputs are left */
  buffer(): number;
  /** Makes room for this many bytes at `buffer()`. @returns 0 if there is none */
  reserve(bytes: number): number;
}

/** An instance whose functions read their input from the start of a buffer and leave their output there. */
export class WasmBuffer<Exports extends BufferExports> {
  readonly exports: Exports;
  /** address of the buffer in linear memory */
  readonly start: number;
  #memory: Uint8Array;

  constructor(exports: Exports) {
    this.exports = exports;
    this.start = exports.buffer();
    this.#memory = new Uint8Array(exports.memory.buffer);
  }

  /** Writes the input's first `length` bytes to the start of the buffer, followed by zeros if it is shorter. */
  write(input: Uint8Array, length: number): void {
    if (this.start + length > this.#memory.length) {
      if (this.exports.reserve(length) === 0) throw new Error(`no memory for a precompile's input of ${length} bytes`);
      this.#memory = new Uint8Array(this.exports.memory.buffer);
    }
    this.#memory.set(input.length > length ? input.subarray(0, length) : input, this.start);
    if (input.length < length) this.#memory.fill(0, this.start + input.length, this.start + length);
  }

  /** A copy of the buffer's first bytes. */
  read(length: number): Uint8Array {
    if (this.#memory.length === 0) this.#memory = new Uint8Array(this.exports.memory.buffer); // the memory has grown during the call
    return this.#memory.slice(this.start, this.start + length);
  }
}
