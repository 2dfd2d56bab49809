import { type BlockSelector, blockEnvironment, LayeredState, type StateLayer, StateLayers } from "@rnode/chain";
import type { BlockExecution, CallMessage, StateChanges, TraceDetail } from "@rnode/evm";
import { INVALID_PARAMS, RpcError } from "@rnode/jsonrpc";
import { bytesToHex } from "@rnode/primitives";
import type { Header } from "@rnode/protocol";
import type { StateView } from "@rnode/storage";
import { type ReadBackend, requireState, rulesAt } from "../backend/backend.ts";
import type { Work } from "../backend/work.ts";
import type { CallService } from "../calls/call-service.ts";
import { applyStateOverrides, overriddenEnvironment } from "../calls/overrides.ts";
import type { AccountOverride, BlockOverride, CallRequest } from "../params/call-request.ts";
import type { ExecutionSlot } from "./execution-slots.ts";
import type { TraceService } from "./trace-service.ts";
import { requireTraceable } from "./traceable-block.ts";
import type { TracerSwitch } from "./tracer-switch.ts";

/** Calls that share a block environment. */
export interface CallBundle {
  readonly transactions: readonly CallRequest[];
  readonly blockOverride: BlockOverride | undefined;
}

/** Where the bundles run. */
export interface BundleContext {
  readonly selector: BlockSelector;
  /** number of the block's transactions to run first; undefined: all */
  readonly transactions: number | undefined;
  readonly stateOverrides: readonly AccountOverride[] | undefined;
  /** which instructions the tracers want */
  readonly detail: TraceDetail | undefined;
}

/** A call whose turn it is. */
export interface BundledCall {
  readonly execution: BlockExecution;
  readonly watcher: TracerSwitch;
  /** @throws {RpcError} unacceptable fees or insufficient funds */
  readonly message: () => CallMessage;
}

/** Runs bundles of calls one after another; each call sees the state that the one before it left. */
export class CallBundles {
  readonly #backend: ReadBackend;
  readonly #calls: CallService;
  readonly #traces: TraceService;

  constructor(backend: ReadBackend, calls: CallService, traces: TraceService) {
    this.#backend = backend;
    this.#calls = calls;
    this.#traces = traces;
  }

  /** Runs all calls and returns the results of `each`, per bundle. @throws {RpcError} */
  run<T>(work: Work, bundles: readonly CallBundle[], context: BundleContext, each: (call: BundledCall) => T): Promise<T[][]> {
    return this.#traces.inSlot(work, async (slot) => {
      const { header, state, layers } = await this.#start(slot, context);
      const rules = rulesAt(this.#backend, header);
      const results: T[][] = [];
      for (const [index, { transactions, blockOverride }] of bundles.entries()) {
        const watcher = this.#traces.newSwitch(slot, context.detail);
        slot.engine.setTracer(watcher);
        const reader = layers.depth === 0 ? state : new LayeredState(state.block, state, layers);
        const environment = overriddenEnvironment(blockEnvironment(rules, header), blockOverride);
        const execution = slot.engine.beginBlock(rules, environment, reader);
        if (index === 0) applyStateOverrides(execution, context.stateOverrides ?? []);
        const own: T[] = [];
        for (const request of transactions) {
          await slot.pause();
          own.push(each({ execution, watcher, message: () => this.#calls.message(execution, request) }));
        }
        results.push(own);
        layers.add(layerOf(execution.changes(), state));
      }
      return results;
    });
  }

  /** The state on which the first bundle runs. */
  async #start(
    slot: ExecutionSlot,
    { selector, transactions: count }: BundleContext,
  ): Promise<{ readonly header: Header; readonly state: StateView; readonly layers: StateLayers }> {
    if (count === undefined) return { ...requireState(this.#backend, selector), layers: new StateLayers() };
    const stored = requireTraceable(this.#backend, selector);
    const { header, transactions } = stored.block;
    if (count > transactions.length) {
      throw new RpcError(INVALID_PARAMS, `transactionIndex ${count} exceeds the ${transactions.length} transactions of the block`);
    }
    if (header.number === 0 || count === transactions.length) {
      return {
        ...requireState(this.#backend, { kind: "hash", hash: stored.hash, requireCanonical: false }),
        layers: new StateLayers(),
      };
    }
    const { state } = requireState(this.#backend, { kind: "hash", hash: header.parentHash, requireCanonical: false });
    const run = await this.#traces.replay(slot, stored, count);
    return { header, state, layers: new StateLayers([layerOf(run.execution.changes(), state)]) };
  }
}

/** State changes that belong to no block, as a layer to read through. */
function layerOf({ accounts, codes }: StateChanges, { block }: StateView): StateLayer {
  return {
    accounts: new Map(
      accounts.map((change) => [
        bytesToHex(change.address),
        { change, storage: new Map(change.storage.map(({ slot, after }) => [bytesToHex(slot), after])) },
      ]),
    ),
    codes: new Map(codes.map(({ codeHash, code }) => [bytesToHex(codeHash), code])),
    storageRoots: new Map(),
    nodes: new Map(),
    number: block.number + 1,
    hash: new Uint8Array(32),
  };
}
