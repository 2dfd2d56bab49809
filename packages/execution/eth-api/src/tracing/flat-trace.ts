import { bytesToHex, toQuantity } from "@rnode/primitives";
import type { JsonObject } from "../json/transaction-json.ts";
import type { TraceDialect } from "../profile/trace-dialect.ts";
import { type Frame, FrameRecorder } from "./frames.ts";
import type { TraceContext, TraceOutcome, TracePlace, TransactionTracer } from "./transaction-tracer.ts";

export interface FlatTraceOptions {
  readonly errorText: (frame: Frame) => string;
  /** whether a frame is a call to a precompile that is not to be shown */
  readonly isHidden: (frame: Frame) => boolean;
}

/** A trace in a list, without its place, which `placed` adds. */
export interface FlatTrace {
  readonly action: JsonObject;
  readonly error?: string;
  readonly result: JsonObject | null;
  readonly subtraces: number;
  readonly traceAddress: readonly number[];
  readonly type: "call" | "create" | "suicide";
}

/** Parity's list of a transaction's messages; each precedes those that it called. */
export function flatTraces(root: Frame, options: FlatTraceOptions): FlatTrace[] {
  const traces: FlatTrace[] = [];
  const add = (frame: Frame, traceAddress: readonly number[]): void => {
    const calls = frame.calls.filter((call) => !options.isHidden(call));
    traces.push(flat(frame, calls.length, traceAddress, options));
    for (const [index, call] of calls.entries()) add(call, [...traceAddress, index]);
  };
  add(root, []);
  return traces;
}

function flat(frame: Frame, subtraces: number, traceAddress: readonly number[], { errorText }: FlatTraceOptions): FlatTrace {
  const { kind, from, to, gas, gasUsed, value, input, output, halt } = frame;
  const common = { subtraces, traceAddress };
  const target = to === undefined ? null : bytesToHex(to);
  if (kind === "selfdestruct") {
    const action = { address: bytesToHex(from), balance: toQuantity(value), refundAddress: target };
    return { action, result: null, ...common, type: "suicide" };
  }
  const failure = halt === undefined ? {} : { error: errorText(frame) };
  const hasResult = halt === undefined || halt === "revert";
  if (kind === "create" || kind === "create2") {
    return {
      action: {
        creationMethod: kind,
        from: bytesToHex(from),
        gas: toQuantity(gas),
        init: bytesToHex(input),
        value: toQuantity(value),
      },
      ...failure,
      result: hasResult ? { address: target, code: bytesToHex(output), gasUsed: toQuantity(gasUsed) } : null,
      ...common,
      type: "create",
    };
  }
  return {
    action: {
      callType: kind,
      from: bytesToHex(from),
      gas: toQuantity(gas),
      input: bytesToHex(input),
      to: target,
      value: toQuantity(kind === "staticcall" ? 0n : value),
    },
    ...failure,
    result: hasResult ? { gasUsed: toQuantity(gasUsed), output: bytesToHex(output) } : null,
    ...common,
    type: "call",
  };
}

const hexOrNull = (bytes: Uint8Array | undefined): string | null => (bytes === undefined ? null : bytesToHex(bytes));

/** Adds the place of the transaction that the trace belongs to. */
export const placed = (trace: FlatTrace, place: TracePlace | typeof NO_PLACE | undefined): JsonObject => ({
  ...trace,
  ...(place !== undefined && {
    blockHash: hexOrNull(place.blockHash),
    blockNumber: place.blockNumber,
    transactionHash: hexOrNull(place.transactionHash),
    transactionPosition: place.transactionIndex,
  }),
});

type IsPrecompile = (address: Uint8Array) => boolean;

/** As Reth does, hides calls to precompiles that transfer no value. */
export const parityOptions = (dialect: TraceDialect, isPrecompile: IsPrecompile): FlatTraceOptions => ({
  errorText: ({ halt }) => dialect.parityError(halt!),
  isHidden: ({ kind, to, value }) => kind !== "selfdestruct" && value === 0n && to !== undefined && isPrecompile(to),
});

/** What Geth shows for a call, which is in no block: nulls for the hashes. */
const NO_PLACE = { blockHash: undefined, blockNumber: 0, transactionHash: undefined, transactionIndex: 0 };

/** As Geth does, leaves out fields that have no value. */
function gethTrace({ result, action, ...rest }: JsonObject): JsonObject {
  const { value, ...others } = action as JsonObject;
  const isStatic = others.callType === "staticcall";
  return {
    action: isStatic ? others : { ...others, ...(value !== undefined && { value }) },
    ...rest,
    ...(result !== null && { result }),
  };
}

export interface FlatCallTracerConfig {
  readonly convertParityErrors: boolean;
  readonly includePrecompiles: boolean;
  /** runs as a part of `muxTracer`: Reth's then shows the gas with which the engine began, not the transaction's limit */
  readonly isPart: boolean;
}

/** `flatCallTracer`: either Geth's, or Reth's, which is the same as its `trace_transaction`. */
export class FlatCallTracer extends FrameRecorder implements TransactionTracer {
  readonly #config: FlatCallTracerConfig;
  readonly #dialect: TraceDialect;
  readonly #isPrecompile: IsPrecompile;
  #place: TracePlace | undefined;

  constructor(config: FlatCallTracerConfig, dialect: TraceDialect, isPrecompile: IsPrecompile) {
    super();
    this.#config = config;
    this.#dialect = dialect;
    this.#isPrecompile = isPrecompile;
  }

  override onStart(context: TraceContext): void {
    super.onStart(context);
    this.#place = context.place;
  }

  result(outcome: TraceOutcome): JsonObject[] {
    const dialect = this.#dialect;
    if (dialect.flatIsParity) {
      const root = this.root(outcome);
      const shown = this.#config.isPart ? root : { ...root, gas: this.gasLimit };
      return flatTraces(shown, parityOptions(dialect, this.#isPrecompile)).map((trace) => placed(trace, this.#place));
    }
    const { convertParityErrors, includePrecompiles } = this.#config;
    const options: FlatTraceOptions = {
      errorText: ({ halt, lastStep }) => (convertParityErrors ? dialect.parityError(halt!) : dialect.frameError(halt!, lastStep)),
      isHidden: ({ kind, to }) =>
        !includePrecompiles && (kind === "call" || kind === "staticcall") && to !== undefined && this.#isPrecompile(to),
    };
    return flatTraces(this.transactionFrame(outcome), options).map((trace) => gethTrace(placed(trace, this.#place ?? NO_PLACE)));
  }
}
