/** The little of the WebAssembly interface that is needed; the global is not in the language's own library. */
interface WebAssemblyApi {
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Instance: new (module: object, imports: Record<string, Record<string, unknown>>) => { readonly exports: unknown };
}
declare const WebAssembly: WebAssemblyApi;

/** The compiled engine, shared by all its instances of a process. */
export interface EvmModule {
  readonly wasm: object;
}

/** Compiles the engine (`@rnode/evm/engine.wasm`). */
export function compileEvm(wasmBytes: Uint8Array): EvmModule {
  return { wasm: new WebAssembly.Module(wasmBytes) };
}

/** Pointers and lengths are u32 as numbers, u64 and i64 bigints. See assembly/engine.ts. */
export interface EngineExports {
  readonly memory: { readonly buffer: ArrayBuffer };
  setHashSeed(a: bigint, b: bigint): void;
  setCodeCacheBound(bytes: number): void;
  beginBlock(fork: number, lastPrecompile: number, hasP256: number, tracing: number): void;
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
  execute(sender: number, to: number, input: number, length: number, gas: bigint): void;
  heapTop(): number;
  keccak256(from: number, length: number, to: number): void;
}

/** A new instance with its own linear memory. */
export function instantiate(module: EvmModule, host: Record<string, unknown>): EngineExports {
  return new WebAssembly.Instance(module.wasm, { host }).exports as EngineExports;
}
