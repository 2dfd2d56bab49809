import {
  type Bls12381Exports,
  type EvmModule,
  instantiateBls12381,
  instantiatePrecompiles,
  type PrecompileExports,
} from "../engine/module.ts";
import { WasmBuffer } from "./wasm-buffer.ts";

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
export class Arithmetic extends WasmBuffer<PrecompileExports> {
  readonly #module: EvmModule;
  #bls12381: WasmBuffer<Bls12381Exports> | undefined;

  constructor(module: EvmModule) {
    super(instantiatePrecompiles(module));
    this.#module = module;
  }

  /** Compiled when it is first asked for. */
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

  /** base ^ exponent mod an odd modulus, or mod 2^(28·limbs). Numbers fit in `limbs` limbs of 28 bits, the base is below the modulus. */
  power(base: bigint, exponent: Uint8Array, modulus: bigint | undefined, limbs: number): bigint {
    const size = 4 * limbs;
    const bytes = new Uint8Array(3 * size + exponent.length);
    bytes.set(exponent, 3 * size);
    this.write(bytes, bytes.length);
    const shift = modulus === undefined ? 0n : BigInt(LIMB_BITS * limbs);
    const form = (value: bigint) => (modulus === undefined ? value : (value << shift) % modulus);
    const view = new DataView(this.exports.memory.buffer);
    for (const [index, value] of [modulus ?? 0n, form(1n), form(base)].entries()) {
      writeLimbs(view, this.start + index * size, value, limbs);
    }
    if (this.exports.modexp(this.start, limbs, exponent.length) === 0) throw new RangeError(`modexp of ${limbs} limbs`);
    return readLimbs(view, this.start, limbs);
  }
}
