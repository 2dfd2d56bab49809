import {
  type Bls12381Exports,
  type CurveExports,
  type EvmModule,
  instantiateBls12381,
  instantiatePrecompiles,
  type PrecompileExports,
} from "../engine/module.ts";
import { WasmBuffer } from "../engine/wasm-buffer.ts";

/** The same functions compiled to native code (`@rnode/native`); their memory, of `size` bytes, does not grow. */
export interface NativeArithmetic {
  readonly precompiles: CurveExports & { readonly size: number };
  readonly bls12381: Bls12381Exports & { readonly size: number };
}

class NativeBuffer<Exports extends CurveExports | Bls12381Exports> extends WasmBuffer<Exports> {
  readonly #size: number;

  constructor(exports: Exports & { readonly size: number }) {
    super(exports);
    this.#size = exports.size;
  }

  hasRoom(bytes: number): boolean {
    return this.start + bytes <= this.#size;
  }
}

/**
 * Big-number arithmetic, in WebAssembly or native code. Calls are synchronous and keep no state; one instance serves one engine.
 * The base class is the WebAssembly instance, for MODEXP and for inputs of more than a megabyte, which native code does not
 * support.
 */
export class Arithmetic extends WasmBuffer<PrecompileExports> {
  readonly #module: EvmModule;
  readonly #nativeCurves: NativeBuffer<CurveExports> | undefined;
  readonly #nativeBls12381: NativeBuffer<Bls12381Exports> | undefined;
  #bls12381: WasmBuffer<Bls12381Exports> | undefined;

  constructor(module: EvmModule, native?: NativeArithmetic) {
    super(instantiatePrecompiles(module));
    this.#module = module;
    this.#nativeCurves = native && new NativeBuffer(native.precompiles);
    this.#nativeBls12381 = native && new NativeBuffer(native.bls12381);
  }

  /** For bn254 and P-256. @param bytes of the input */
  curves(bytes: number): WasmBuffer<CurveExports> {
    return this.#nativeCurves?.hasRoom(bytes) ? this.#nativeCurves : this;
  }

  /** @param bytes of the input */
  bls12381(bytes: number): WasmBuffer<Bls12381Exports> {
    if (this.#nativeBls12381?.hasRoom(bytes)) return this.#nativeBls12381;
    this.#bls12381 ??= new WasmBuffer(instantiateBls12381(this.#module)); // compiled on first use
    return this.#bls12381;
  }
}

/** Writes a number below 2^192 little-endian, at `offset` of a buffer. */
export function writeNumber({ exports, start }: WasmBuffer<CurveExports>, value: bigint, offset: number): void {
  const view = new DataView(exports.memory.buffer);
  for (let word = 0; word < 3; word++) {
    view.setBigUint64(start + offset + 8 * word, (value >> BigInt(64 * word)) & 0xffffffffffffffffn, true);
  }
}
