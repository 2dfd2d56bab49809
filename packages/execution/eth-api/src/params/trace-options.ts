import {
  anyJson,
  booleanShape,
  mapShape,
  numberShape,
  objectShape,
  type Shape,
  ShapeError,
  shape,
  shown,
  textShape,
} from "@rnode/jsonrpc";
import { parseDurationMs } from "@rnode/program";
import { blockOverrideShape, stateOverrideShape } from "./call-request.ts";
import { numberOrQuantityShape } from "./number-or-quantity.ts";

/** A duration in Go's notation (`5s`, `1m30s`, `100ms`), parsed to milliseconds. */
const goDurationShape: Shape<number> = shape({ type: "string", examples: ["5s", "1m30s"] }, (value) => {
  if (typeof value !== "string") throw new ShapeError(`expected a duration like "5s", got ${shown(value)}`);
  const durationMs = parseDurationMs(value);
  if (durationMs === undefined) throw new ShapeError(`time: invalid duration "${value}"`);
  return durationMs;
});

const fields = {
  tracer: textShape,
  tracerConfig: anyJson,
  timeout: goDurationShape,
  /** accepted without effect, because the state of every block is available */
  reexec: anyJson,
  disableStack: booleanShape,
  disableStorage: booleanShape,
  disableMemory: booleanShape,
  enableMemory: booleanShape,
  disableReturnData: booleanShape,
  enableReturnData: booleanShape,
  debug: booleanShape,
  limit: numberShape,
};

/** Which tracer to use, with its options. */
export interface TraceRequest {
  /** undefined: the struct logger */
  readonly tracer: string | undefined;
  readonly tracerConfig: unknown;
  readonly timeoutMs: number | undefined;
  readonly disableStack: boolean;
  readonly disableStorage: boolean;
  readonly enableMemory: boolean;
  readonly enableReturnData: boolean;
  readonly limit: number;
}

type Given = { readonly [K in keyof typeof fields]: (typeof fields)[K] extends Shape<infer T> ? T | undefined : never };

const requestOf = (given: Given): TraceRequest => ({
  tracer: given.tracer === "" ? undefined : given.tracer,
  tracerConfig: given.tracerConfig,
  timeoutMs: given.timeout,
  disableStack: given.disableStack ?? false,
  disableStorage: given.disableStorage ?? false,
  enableMemory: given.enableMemory ?? given.disableMemory === false,
  enableReturnData: given.enableReturnData ?? given.disableReturnData === false,
  limit: given.limit ?? 0,
});

export const traceOptionsShape: Shape<TraceRequest> = mapShape(objectShape({}, fields), requestOf);
export const NO_TRACE_OPTIONS: TraceRequest = traceOptionsShape.parse({});

export const traceCallOptionsShape = mapShape(
  objectShape(
    {},
    { ...fields, stateOverrides: stateOverrideShape, blockOverrides: blockOverrideShape, txIndex: numberOrQuantityShape },
  ),
  ({ stateOverrides, blockOverrides, txIndex, ...given }) => ({
    request: requestOf(given),
    overrides: { state: stateOverrides, block: blockOverrides },
    /** run the call in place of this transaction of the block; undefined: after all transactions */
    txIndex,
  }),
);
