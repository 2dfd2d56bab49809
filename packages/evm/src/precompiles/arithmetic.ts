import {
  type Bls12381Exports,
  type EvmModule,
  instantiateBls12381,
  instantiatePrecompiles,
  type PrecompileExports,
} from "../engine/module.ts";
import { WasmBuffer } from "../engine/wasm-buffer.ts";

/** Big-number arithmetic in WebAssembly. Calls are synchronous and keep no state; one instance serves one engine. */
export class Arithmetic extends WasmBuffer<PrecompileExports> {
  readonly #module: EvmModule;
  #bls12381: WasmBuffer<Bls12381Exports> | undefined;

  constructor(module: EvmModule) {
    super(instantiatePrecompiles(module));
    this.#module = module;
  }

  /** Compiled on first use. */
  get bls12381(): WasmBuffer<Bls12381Exports> {
    this.#bls12381 ??= new WasmBuffer(instantiateBls12381(this.#module));
    return this.#bls12381;
  }

  /** Writes a number below 2^192 little-endian. */
  writeNumber(value: bigint, offset: number): void {
    const at = this.start + offset;
    const view = new DataView(this.exports.memory.buffer);
    for (let word = 0; word < 3; word++) view.setBigUint64(at + 8 * word, (value >> BigInt(64 * word)) & 0xffffffffffffffffn, true);
  }
}
