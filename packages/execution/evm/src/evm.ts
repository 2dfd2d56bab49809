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
  /** for the point evaluation precompile; if omitted, or while it returns no result, the engine verifies in WebAssembly */
  readonly kzg?: KzgVerifier | undefined;
  /** SHA-256 in native code, for long inputs of the precompile; if omitted, the engine's own */
  readonly sha256?: ((data: Uint8Array) => Uint8Array) | undefined;
  /** native code for precompiles; if omitted, all precompiles run in WebAssembly */
  readonly native?: NativeArithmetic | undefined;
  /**
   * 16 random bytes: keys of the engine's hash tables, so an attacker cannot choose colliding slots. Results do not depend on
   * them.
   */
  readonly hashSeed?: Uint8Array | undefined;
  /** bytes of decoded code to keep across blocks; default 128 MB */
  readonly codeCacheBytes?: number | undefined;
}

/** An EVM that executes one block at a time. A process can have several, each with its own memory of at least 40 MB. */
export interface EvmEngine {
  /** Begins a block and ends the previous one, whose `BlockExecution` must not be used afterwards. */
  beginBlock(rules: BlockRules, environment: BlockEnvironment, reader: StateReader): BlockExecution;
  /**
   * Takes effect at the next `beginBlock`; `undefined` takes effect at once and releases the previous tracer. Without a tracer,
   * tracing costs nothing.
   */
  setTracer(tracer: EvmTracer | undefined): void;
  /**
   * Sets a function that is called every few milliseconds during long executions, and before a long-running precompile, with its
   * gas (otherwise 0). If it throws, the execution ends with that error, and the block must not be used afterwards. If a tracer
   * gets every instruction, its `onTick` replaces this function.
   */
  setInterrupt(check: ((stepGas: bigint) => void) | undefined): void;
  /** Runs the interpreter for some 50 ms, so that its optimised code is compiled before it is needed. */
  warmUp(): void;
  /** bytes of linear memory in use */
  readonly memoryBytes: number;
  /**
   * Gas burned by all executions on the engine, including failed, reverted and aborted ones. It measures the engine's work, so
   * gas that a failing message forfeits does not count, and refunds are not subtracted.
   */
  readonly gasBurned: bigint;
}

/**
 * An instance that exceeds this size plus twice its code cache is replaced at the next block, because linear memory never
 * shrinks. The allowance is for stacks (32 MB, mostly unused), tables of accounts and slots, and EVM memories.
 */
const KEPT_MEMORY_BYTES = 192 << 20;
const DEFAULT_CODE_CACHE_BYTES = 128 << 20;

/**
 * Assumed speed of execution. The slowest known gas takes a third longer (lab/bench/README.md#worst), so time limits based on
 * this value leave a margin.
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
  /** made by the first block: its 37 MiB of memory count for V8's garbage collection before they are touched */
  #instance: EngineInstance | undefined;
  #tracer: EvmTracer | undefined;
  #interrupt: ((stepGas: bigint) => void) | undefined;
  #current: EngineBlock | undefined;
  /** by replaced instances */
  #burnedBefore = 0n;

  constructor(module: EvmModule, options: EvmOptions) {
    this.#module = module;
    this.#arithmetic = new Arithmetic(module, options.native);
    this.#options = options;
  }

  get memoryBytes(): number {
    return this.#instance?.memory.bytes.length ?? 0;
  }

  get gasBurned(): bigint {
    return this.#burnedBefore + (this.#instance?.gasBurned ?? 0n);
  }

  setTracer(tracer: EvmTracer | undefined): void {
    this.#tracer = tracer;
    if (tracer === undefined && this.#instance !== undefined) this.#instance.tracer = undefined; // the tracer can hold megabytes
  }

  setInterrupt(check: ((stepGas: bigint) => void) | undefined): void {
    this.#interrupt = check;
    if (this.#instance !== undefined) this.#instance.onSlice = check;
  }

  warmUp(): void {
    warmUpEngine((rules, environment, reader) => this.beginBlock(rules, environment, reader));
  }

  beginBlock(rules: BlockRules, environment: BlockEnvironment, reader: StateReader): BlockExecution {
    this.#current?.end();
    const { codeCacheBytes = DEFAULT_CODE_CACHE_BYTES } = this.#options;
    if (this.memoryBytes > KEPT_MEMORY_BYTES + 2 * codeCacheBytes) {
      this.#burnedBefore = this.gasBurned;
      this.#instance = undefined;
    }
    const instance = (this.#instance ??= this.#newInstance());
    instance.reader = reader;
    instance.tracer = this.#tracer;
    instance.onSlice = this.#interrupt;
    this.#current = new EngineBlock(instance, rules, environment, this.#precompilesOf(rules));
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
