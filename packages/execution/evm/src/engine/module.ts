import type { BufferExports } from "./wasm-buffer.ts";

/** The part of the WebAssembly interface that is needed; the global is not in the language's own library. */
interface WebAssemblyApi {
  readonly Module: {
    new (bytes: Uint8Array): object;
    customSections(module: object, name: string): ArrayBuffer[];
  };
  readonly Instance: new (module: object, imports: Record<string, Record<string, unknown>>) => { readonly exports: unknown };
}
declare const WebAssembly: WebAssemblyApi;

/** The compiled engine, shared by all its instances in a process. */
export interface EvmModule {
  readonly wasm: object;
  /** the module of assembly/precompiles, which has its own memory */
  readonly precompiles: object;
  /** the module of assembly/bls12-381, compiled on first use */
  readonly bls12381: () => object;
}

/** Sections of engine.wasm that contain the other modules, so that there is only one file to ship and load. */
const PRECOMPILES_SECTION = "precompiles";
const BLS12_381_SECTION = "bls12-381";

/** Compiles the engine (`@rnode/evm/engine.wasm`). */
export function compileEvm(wasmBytes: Uint8Array): EvmModule {
  const wasm = new WebAssembly.Module(wasmBytes);
  const section = (name: string): Uint8Array => {
    const [content] = WebAssembly.Module.customSections(wasm, name);
    if (content === undefined) throw new Error("engine.wasm is of an older version: build it again (scripts/build-engine.mjs)");
    return new Uint8Array(content);
  };
  const bls12381Bytes = section(BLS12_381_SECTION);
  let bls12381: object | undefined;
  return {
    wasm,
    precompiles: new WebAssembly.Module(section(PRECOMPILES_SECTION)),
    bls12381: () => {
      bls12381 ??= new WebAssembly.Module(bls12381Bytes);
      return bls12381;
    },
  };
}

/** Pointers and lengths are u32 as numbers, u64 and i64 bigints. See assembly/engine.ts. */
export interface EngineExports {
  readonly memory: { readonly buffer: ArrayBuffer };
  setHashSeed(a: bigint, b: bigint): void;
  setCodeCacheBound(bytes: number): void;
  setHostSha256From(length: number): void;
  beginBlock(fork: number, lastPrecompile: number, hasP256: number, trace: number): void;
  movePrecompile(from: number, to: number): number;
  refundCounter(): bigint;
  beginTransaction(): void;
  endTransaction(): void;
  checkpoint(): number;
  revertTo(position: number): void;
  account(): number;
  unloadedAccount(): number;
  firstAccount(): number;
  addBalance(account: number): void;
  subtractBalance(account: number): void;
  setNonce(account: number, nonce: bigint): void;
  warmAccount(account: number): void;
  warmSlot(account: number): void;
  slot(account: number): number;
  setCode(account: number, bytes: number, length: number): void;
  overrideBalance(account: number): void;
  overrideNonce(account: number, nonce: bigint): void;
  overrideStorage(account: number): void;
  clearStorage(account: number): void;
  codeOf(account: number): number;
  reserveCode(hash: number, length: number): number;
  finishCode(code: number): void;
  reserveInput(length: number): number;
  reserveOutput(length: number): number;
  addBurned(gas: bigint): void;
  execute(sender: number, to: number, input: number, length: number, gas: bigint): void;
  heapTop(): number;
  keccak256(from: number, length: number, to: number): void;
}

/** A new instance with its own linear memory. */
export function instantiate(module: EvmModule, host: Record<string, unknown>): EngineExports {
  return new WebAssembly.Instance(module.wasm, { host }).exports as EngineExports;
}

/** Pointers and lengths are u32. See assembly/precompiles/precompiles.ts. */
export interface PrecompileExports extends CurveExports {
  modexp(bytes: number, baseBytes: number, exponentBytes: number, modulusBytes: number): number;
}

/** Functions that are also native. See assembly/precompiles/native.ts. */
export interface CurveExports extends BufferExports {
  bn254Add(bytes: number): number;
  bn254Multiply(bytes: number, signs: number): number;
  bn254Pairing(input: number, pairs: number): number;
  p256Verify(bytes: number): number;
}

/** See assembly/bls12-381/bls12-381.ts. All return 0 for an invalid input. */
export interface Bls12381Exports extends BufferExports {
  g1Add(bytes: number): number;
  g1Decompress(bytes: number): number;
  g1Msm(bytes: number, count: number): number;
  g2Add(bytes: number): number;
  g2Msm(bytes: number, count: number): number;
  /** 2 if the product is one, 1 if it is not */
  pairing(bytes: number, count: number): number;
  mapFpToG1(bytes: number): number;
  mapFp2ToG2(bytes: number): number;
}

export function instantiatePrecompiles(module: EvmModule): PrecompileExports {
  return new WebAssembly.Instance(module.precompiles, {}).exports as PrecompileExports;
}

export function instantiateBls12381(module: EvmModule): Bls12381Exports {
  return new WebAssembly.Instance(module.bls12381(), {}).exports as Bls12381Exports;
}
