import type { BlockRules } from "@rnode/protocol";
import { EngineBlock } from "./block.ts";
import { EngineInstance } from "./engine/host.ts";
import type { EvmModule } from "./engine/module.ts";
import type { BlockEnvironment, BlockExecution } from "./execution.ts";
import { Arithmetic, type NativeArithmetic } from "./precompiles/arithmetic.ts";
import type { KzgVerifier } from "./precompiles/point-evaluation.ts";
import { createPrecompiles, type PrecompileSet } from "./precompiles/table.ts";
import type { StateReader } from "./state.ts";
import type { EvmTracer } from "./tracer.ts";
import { warmUpEngine } from "./warm-up.ts";

export interface EvmOptions {
  /** for the point evaluation precompile; while it cannot say, and if omitted, the engine verifies in WebAssembly */
  readonly kzg?: KzgVerifier | undefined;
  /** SHA-256 in native code, for long inputs of the precompile; if omitted, the engine's own */
  readonly sha256?: ((data: Uint8Array) => Uint8Array) | undefined;
  /** what precompiles compute in native code; if omitted, all is WebAssembly */
  readonly native?: NativeArithmetic | undefined;
  /** 16 random bytes: keys of the engine's hash tables, so that nobody can choose slots that collide. Results do not depend on them. */
  readonly hashSeed?: Uint8Array | undefined;
  /** how many bytes of decoded code to keep across blocks; default 128 MB */
  readonly codeCacheBytes?: number | undefined;
}

/** An EVM that executes one block at a time. A process can have several, each with its own memory of at least 40 MB. */
export interface EvmEngine {
  /** Begins a block and ends the previous one, whose `BlockExecution` must not be used any more. */
  beginBlock(rules: BlockRules, environment: BlockEnvironment, reader: StateReader): BlockExecution;
  /** Takes effect at the next `beginBlock`; without a tracer, at once, and the last one is not kept. Without one, tracing costs nothing. */
  setTracer(tracer: EvmTracer | undefined): void;
  /**
   * Sets a function that is called every few milliseconds during long executions, and before a precompile that takes long for itself,
   * with its gas (otherwise 0). If it throws, the execution ends and the error comes out of the call that began it. The block must not be
   * used any more then. While a tracer sees every instruction, long executions are left to its `onTick`.
   */
  setInterrupt(check: ((stepGas: bigint) => void) | undefined): void;
  /** Runs the interpreter for some 50 ms, so that its optimised code is compiled before it is needed. */
  warmUp(): void;
  /** bytes of linear memory in use */
  readonly memoryBytes: number;
  /**
   * Gas that all executions on the engine have burned: also those that failed, were undone or were cut off. A message that fails forfeits
   * what it has left, which it does not burn, and refunds are not subtracted: this measures what the engine has done.
   */
  readonly gasBurned: bigint;
}

/**
 * An instance that has grown beyond this plus twice its code cache is replaced at the next block, as linear memory never shrinks.
 * The allowance covers stacks (32 MB that are hardly ever touched), tables of accounts and slots, and EVM memories.
 */
const KEPT_MEMORY_BYTES = 192 << 20;
const DEFAULT_CODE_CACHE_BYTES = 128 << 20;

/**
 * How fast gas is supposed to burn. The slowest gas that is known burns a third slower (lab/bench/README.md#worst): time limits that
 * look ahead by it leave room for that.
 */
export const SUPPOSED_GAS_PER_MS = 50_000;

/** PERF: calling native code takes as long as hashing this many bytes in the engine. */
const NATIVE_SHA256_FROM_BYTES = 512;

export function createEvm(module: EvmModule, options: EvmOptions = {}): EvmEngine {
  return new Engine(module, options);
}

class Engine implements EvmEngine {
  readonly #module: EvmModule;
  readonly #options: EvmOptions;
  readonly #precompiles = new Map<string, PrecompileSet>();
  readonly #arithmetic: Arithmetic;
  #instance: EngineInstance;
  #tracer: EvmTracer | undefined;
  #interrupt: ((stepGas: bigint) => void) | undefined;
  #current: EngineBlock | undefined;
  /** on instances that were replaced */
  #burnedBefore = 0n;

  constructor(module: EvmModule, options: EvmOptions) {
    this.#module = module;
    this.#arithmetic = new Arithmetic(module, options.native);
    this.#options = options;
    this.#instance = this.#newInstance();
  }

  get memoryBytes(): number {
    return this.#instance.memory.bytes.length;
  }

  get gasBurned(): bigint {
    return this.#burnedBefore + this.#instance.gasBurned;
  }

  setTracer(tracer: EvmTracer | undefined): void {
    this.#tracer = tracer;
    if (tracer === undefined) this.#instance.tracer = undefined; // it may hold a trace of megabytes
  }

  setInterrupt(check: ((stepGas: bigint) => void) | undefined): void {
    this.#interrupt = check;
    this.#instance.onSlice = check;
  }

  warmUp(): void {
    warmUpEngine((rules, environment, reader) => this.beginBlock(rules, environment, reader));
  }

  beginBlock(rules: BlockRules, environment: BlockEnvironment, reader: StateReader): BlockExecution {
    this.#current?.end();
    const { codeCacheBytes = DEFAULT_CODE_CACHE_BYTES } = this.#options;
    if (this.memoryBytes > KEPT_MEMORY_BYTES + 2 * codeCacheBytes) {
      this.#burnedBefore = this.gasBurned;
      this.#instance = this.#newInstance();
    }
    this.#instance.reader = reader;
    this.#instance.tracer = this.#tracer;
    this.#instance.onSlice = this.#interrupt;
    this.#current = new EngineBlock(this.#instance, rules, environment, this.#precompilesOf(rules));
    return this.#current;
  }

  #precompilesOf(rules: BlockRules): PrecompileSet {
    const key = `${rules.evm} ${rules.op}`;
    let set = this.#precompiles.get(key);
    if (set === undefined) {
      set = createPrecompiles(rules, this.#arithmetic, this.#options);
      this.#precompiles.set(key, set);
    }
    return set;
  }

  #newInstance(): EngineInstance {
    const instance = new EngineInstance(this.#module);
    const { hashSeed, codeCacheBytes, sha256 } = this.#options;
    if (sha256 !== undefined) instance.exports.setHostSha256From(NATIVE_SHA256_FROM_BYTES);
    if (hashSeed !== undefined) {
      const view = new DataView(hashSeed.buffer, hashSeed.byteOffset, hashSeed.byteLength);
      instance.exports.setHashSeed(view.getBigUint64(0), view.getBigUint64(8));
    }
    if (codeCacheBytes !== undefined) instance.exports.setCodeCacheBound(codeCacheBytes);
    return instance;
  }
}
