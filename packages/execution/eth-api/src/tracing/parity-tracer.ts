import type { TraceMessage, TraceResult, TraceStep } from "@rnode/evm";
import { bytesToHex } from "@rnode/primitives";
import type { BlockRules } from "@rnode/protocol";
import type { JsonObject } from "../json/transaction-json.ts";
import type { TraceDialect } from "../profile/trace-dialect.ts";
import { type FlatTrace, flatTraces, parityOptions, placed } from "./flat-trace.ts";
import { FrameRecorder } from "./frames.ts";
import { precompileTest } from "./precompile-addresses.ts";
import { StateDiffTracer } from "./state-diff.ts";
import type { TraceContext, TraceOutcome, TransactionTracer } from "./transaction-tracer.ts";
import { VmTracer } from "./vm-tracer.ts";

export const TRACE_TYPES = ["trace", "vmTrace", "stateDiff"] as const;
export type TraceType = (typeof TRACE_TYPES)[number];

/** What `trace_replay…` and `trace_call` return for one transaction. */
export class ReplayTracer extends FrameRecorder implements TransactionTracer {
  readonly #dialect: TraceDialect;
  readonly #rules: BlockRules;
  readonly #hasTrace: boolean;
  readonly #vm: VmTracer | undefined;
  readonly #diff: StateDiffTracer | undefined;
  /** undefined if steps are not needed, so that the engine's host does not create them */
  readonly onStep: ((step: TraceStep) => void) | undefined;

  constructor(types: ReadonlySet<TraceType>, dialect: TraceDialect, rules: BlockRules) {
    super();
    this.#dialect = dialect;
    this.#rules = rules;
    this.#hasTrace = types.has("trace");
    const vm = types.has("vmTrace") ? new VmTracer() : undefined;
    const diff = types.has("stateDiff") ? new StateDiffTracer(dialect) : undefined;
    this.#vm = vm;
    this.#diff = diff;
    if (vm !== undefined || diff !== undefined) {
      this.onStep = (step) => {
        vm?.onStep(step);
        diff?.onStep(step);
      };
    }
  }

  override onStart(context: TraceContext): void {
    super.onStart(context);
    this.#vm?.onStart(context);
    this.#diff?.onStart(context);
  }

  override heldBytes(): number {
    return super.heldBytes() + (this.#vm?.heldBytes() ?? 0);
  }

  override onEnter(message: TraceMessage): void {
    super.onEnter(message);
    this.#vm?.onEnter(message);
  }

  override onExit(result: TraceResult): void {
    super.onExit(result);
    this.#vm?.onExit(result);
    this.#diff?.onExit(result);
  }

  result(outcome: TraceOutcome): JsonObject {
    const { output, halt } = outcome;
    return {
      output: halt === undefined || halt === "revert" ? bytesToHex(output) : "0x",
      stateDiff: this.#diff?.result() ?? null,
      trace: this.#hasTrace ? this.#traces(outcome) : [],
      vmTrace: this.#vm?.result() ?? null,
    };
  }

  /** Gas as the engine ran the frames: without the intrinsic gas and refunds. */
  #traces(outcome: TraceOutcome): FlatTrace[] {
    return flatTraces(this.root(outcome), parityOptions(this.#dialect, precompileTest(this.#rules)));
  }
}

/** What `trace_transaction` returns: traces with their place, and gas as the engine ran them. */
export class PlacedTracer extends FrameRecorder implements TransactionTracer {
  readonly #dialect: TraceDialect;
  #context: TraceContext | undefined;

  constructor(dialect: TraceDialect) {
    super();
    this.#dialect = dialect;
  }

  override onStart(context: TraceContext): void {
    super.onStart(context);
    this.#context = context;
  }

  result(outcome: TraceOutcome): JsonObject[] {
    const { rules, place } = this.#context!;
    const traces = flatTraces(this.root(outcome), parityOptions(this.#dialect, precompileTest(rules)));
    return traces.map((trace) => placed(trace, place));
  }
}
