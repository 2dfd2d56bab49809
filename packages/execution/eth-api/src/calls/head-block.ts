import { blockEnvironment } from "@rnode/chain";
import type { BlockExecution, EvmEngine } from "@rnode/evm";
import type { StateView } from "@rnode/storage";
import { type HeaderAt, type ReadBackend, rulesAt } from "../backend/backend.ts";

/** The most calls before a fresh start. It bounds what calls leave behind in the engine (the code they deployed). */
const MAX_CALLS = 10_000;
/** The most state that calls may have loaded before it is dropped. */
const MAX_GROWTH_BYTES = 64 << 20;

interface Kept {
  readonly at: HeaderAt;
  readonly execution: BlockExecution;
  readonly memoryBytes: number;
  calls: number;
}

/**
 * The state after the head block, ready for calls. It has its own engine and is kept between calls while the head stays the same.
 * PERF: the effects of a call are reverted, but the values it has read stay in the engine's tables. The next call on the same
 * head finds the block set up, and the accounts and slots of earlier calls loaded: most calls concern the same few contracts.
 */
export class HeadBlock {
  readonly #backend: ReadBackend;
  readonly #engine: EvmEngine;
  readonly #gasCap: bigint;
  #kept: Kept | undefined;

  /** @param engine must not be used by anything else */
  constructor(backend: ReadBackend, engine: EvmEngine, gasCap: bigint) {
    this.#backend = backend;
    this.#engine = engine;
    this.#gasCap = gasCap;
  }

  /** The execution for one call that offers no fee and therefore sees no base fee. The block is `at`, which must be the head. */
  execution(at: HeaderAt & { readonly state: StateView }): BlockExecution {
    let kept = this.#kept;
    const isUsable =
      kept !== undefined &&
      kept.at === at &&
      kept.calls < MAX_CALLS &&
      this.#engine.memoryBytes - kept.memoryBytes <= MAX_GROWTH_BYTES;
    if (kept === undefined || !isUsable) {
      const rules = rulesAt(this.#backend, at.header);
      const environment = blockEnvironment(rules, at.header);
      const gasLimit = environment.gasLimit > this.#gasCap ? environment.gasLimit : this.#gasCap;
      const execution = this.#engine.beginBlock(rules, { ...environment, gasLimit, baseFeePerGas: 0n }, at.state);
      kept = { at, execution, memoryBytes: this.#engine.memoryBytes, calls: 0 };
      this.#kept = kept;
    }
    kept.calls++;
    return kept.execution;
  }

  /** Called after a call that did not end normally: the engine's state is unknown. */
  drop(): void {
    this.#kept = undefined;
  }
}
