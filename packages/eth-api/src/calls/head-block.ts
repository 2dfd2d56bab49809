import { blockEnvironment } from "@rnode/chain";
import type { BlockExecution, EvmEngine } from "@rnode/evm";
import type { StateView } from "@rnode/storage";
import { type HeaderAt, type ReadBackend, rulesAt } from "../backend/backend.ts";

/** Calls between two fresh starts, at most: what they leave behind in the engine (code they deployed) stays small. */
const MAX_CALLS = 10_000;
/** What calls may have loaded from the state before it is dropped again. */
const MAX_GROWTH_BYTES = 64 << 20;

interface Kept {
  readonly at: HeaderAt;
  readonly execution: BlockExecution;
  readonly memoryBytes: number;
  calls: number;
}

/**
 * The state after the head, ready to be called: kept from call to call as long as the head stays, on an engine of its own.
 *
 * PERF: a call undoes what it did, but what it has read stays in the engine's tables. The next call on the same head finds its block set
 * up, and the accounts and slots that others have read before it: most calls are about the same few contracts.
 */
export class HeadBlock {
  readonly #backend: ReadBackend;
  readonly #engine: EvmEngine;
  readonly #gasCap: bigint;
  #kept: Kept | undefined;

  /** @param engine nobody else uses it */
  constructor(backend: ReadBackend, engine: EvmEngine, gasCap: bigint) {
    this.#backend = backend;
    this.#engine = engine;
    this.#gasCap = gasCap;
  }

  /** For one call that offers no fee; it sees no base fee. The block is that of `at`, which is the head. */
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

  /** After a call that did not end as calls do: what it left behind is unknown. */
  drop(): void {
    this.#kept = undefined;
  }
}
