import { type EvmEngine, SUPPOSED_GAS_PER_MS } from "@rnode/evm";
import { type Hex, isCodedError, LruCache } from "@rnode/primitives";
import { ChainError } from "../faults.ts";

/** Record of a block whose execution was stopped. */
interface Stopped {
  /** of the next attempt */
  readonly limitMs: number;
  readonly notBeforeMs: number;
}

const MAX_STOPPED = 1_000;
/** After an attempt, a payload is refused for this multiple of its time, so that a client that repeats it leaves time for others. */
const PAUSE_FACTOR = 4;

/**
 * Bounds the time of one attempt to execute a block. No block is refused for good, because a slow block can be valid: each further
 * attempt at a block that was derived from L1 has twice the time. A block of a peer has the same time again, after a pause: it comes from L1
 * as well if it is one of the chain.
 * Spec: docs/protocol/01-execution.md#time-limit-of-an-execution
 */
export class ExecutionLimit {
  readonly #nowMs: () => number;
  readonly #limitMs: number;
  readonly #stopped = new LruCache<Hex, Stopped>(MAX_STOPPED);

  /** @param nowMs monotonic. @param limitMs of the first attempt; 0: no limit */
  constructor(nowMs: () => number, limitMs: number) {
    this.#nowMs = nowMs;
    this.#limitMs = limitMs;
  }

  /**
   * @param engine the engine of `execute`
   * @param key hash of the block, or id of the payload to build
   * @param isFromPeer whether the block comes from a peer, not from derivation
   * @throws {ChainError} chain/execution-too-long; the state is unchanged
   */
  run<T>(engine: EvmEngine, key: Hex, isFromPeer: boolean, execute: () => T): T {
    if (this.#limitMs === 0) return execute();
    const startMs = this.#nowMs();
    const { limitMs, notBeforeMs } = this.#stopped.get(key) ?? { limitMs: this.#limitMs, notBeforeMs: startMs };
    if (startMs < notBeforeMs) {
      const pauseSec = Math.ceil((notBeforeMs - startMs) / 1000);
      throw new ChainError("chain/execution-too-long", { block: key, limitSec: limitMs / 1000, pauseSec });
    }
    const endMs = startMs + limitMs;
    const stop = (cause?: unknown): ChainError => {
      const nowMs = this.#nowMs();
      const pauseMs = isFromPeer ? PAUSE_FACTOR * (nowMs - startMs) : 0;
      this.#stopped.set(key, { limitMs: isFromPeer ? limitMs : 2 * limitMs, notBeforeMs: nowMs + pauseMs });
      const pauseSec = Math.ceil(pauseMs / 1000);
      return new ChainError("chain/execution-too-long", { block: key, limitSec: limitMs / 1000, pauseSec }, { cause });
    };
    engine.setInterrupt((stepGas) => {
      if (this.#nowMs() + Number(stepGas) / SUPPOSED_GAS_PER_MS > endMs) throw stop();
    });
    try {
      const result = execute();
      this.#stopped.delete(key);
      return result;
    } catch (error) {
      // Only gas limits far beyond those of any chain pay for gigabytes of memory.
      throw isCodedError(error, "evm/out-of-memory") ? stop(error) : error;
    } finally {
      engine.setInterrupt(undefined);
    }
  }
}
