import type { CallMessage } from "@rnode/evm";
import {
  arrayShape,
  numberShape,
  objectShape,
  optionalParam,
  param,
  RpcError,
  type Shape,
  ShapeError,
  shape,
} from "@rnode/jsonrpc";
import { bytesToHex } from "@rnode/primitives";
import { revertError } from "../calls/call-service.ts";
import { blockSelectorShape, LATEST } from "../params/block-selector.ts";
import { blockOverrideShape, callRequestShape, stateOverrideShape } from "../params/call-request.ts";
import { NO_TRACE_OPTIONS, traceCallOptionsShape } from "../params/trace-options.ts";
import * as results from "../schemas/debug-results.ts";
import { type BundledCall, CallBundles } from "../tracing/call-bundles.ts";
import { tracerFactory } from "../tracing/tracers.ts";
import { type ApiMethods, method } from "./method.ts";
import type { ReadServices } from "./services.ts";

const bundleShape = objectShape({ transactions: arrayShape(callRequestShape) }, { blockOverride: blockOverrideShape });

/** −1: all transactions */
const transactionCountShape: Shape<number> = shape({ type: "integer", minimum: -1 }, (value) => {
  const count = numberShape.parse(value);
  if (!Number.isSafeInteger(count) || count < -1) throw new ShapeError("expected -1 or the number of transactions to run before");
  return count;
});

const stateContextShape = objectShape({}, { blockNumber: blockSelectorShape, transactionIndex: transactionCountShape });
type StateContext = ReturnType<typeof stateContextShape.parse>;

const contextOf = (given: StateContext | undefined) => {
  const { blockNumber = LATEST, transactionIndex = -1 } = given ?? {};
  return { selector: blockNumber, transactions: transactionIndex === -1 ? undefined : transactionIndex };
};

/** `eth_callMany`, compatible with Reth. */
export function ethCallManyMethods({ backend, calls, traces }: ReadServices): ApiMethods {
  const bundles = new CallBundles(backend, calls, traces);
  const { errors } = backend.profile;
  return {
    eth_callMany: method({
      runs: "reader",
      cost: "call",
      result: results.callManyOutputs,
      params: [
        param("bundles", arrayShape(bundleShape)),
        optionalParam("stateContext", stateContextShape),
        optionalParam("stateOverrides", stateOverrideShape),
      ],
      summary: "Calls one after another, each on the state that the one before left: outputs, or why a call failed.",
      handler: ([given, context, stateOverrides], work) =>
        bundles.run(
          calls.limited(work),
          given,
          { ...contextOf(context), stateOverrides, detail: "messages" },
          ({ execution, message }) => {
            const own = messageOrFault(message);
            if (own instanceof RpcError) return { error: own.message };
            const { status, output, halt, invalidOpcode } = execution.applyMessage(own);
            if (status === 1) return { value: bytesToHex(output) };
            const isRevert = halt === undefined || halt === "revert";
            const failure = isRevert
              ? revertError(backend.profile, output)
              : errors.call({ kind: "halt", halt, invalidOpcode, gasLimit: own.gasLimit });
            return { error: failure.message };
          },
        ),
    }),
  };
}

/** `debug_traceCallMany`, compatible with Reth. */
export function debugCallManyMethods({ backend, calls, traces }: ReadServices): ApiMethods {
  const bundles = new CallBundles(backend, calls, traces);
  return {
    debug_traceCallMany: method({
      runs: "reader",
      cost: "trace",
      result: results.callManyTraces,
      params: [
        param("bundles", arrayShape(bundleShape)),
        optionalParam("stateContext", stateContextShape),
        optionalParam("options", traceCallOptionsShape),
      ],
      summary: "Like eth_callMany, with the trace of each call.",
      handler: ([given, context, options], work) => {
        const { request, overrides } = options ?? { request: NO_TRACE_OPTIONS, overrides: {} };
        const newTracer = tracerFactory(backend.profile, request);
        const withBlock = given.map(({ transactions, blockOverride }) => ({
          transactions,
          blockOverride: blockOverride ?? overrides.block,
        }));
        const where = { ...contextOf(context), stateOverrides: overrides.state, detail: newTracer.detail };
        return bundles.run(
          work,
          withBlock,
          where,
          ({ execution, watcher, message }) =>
            traces.traceMessage(watcher, execution, message(), newTracer, request.timeoutMs).result,
        );
      },
    }),
  };
}

/** A call that cannot start is reported in its place among the results. */
function messageOrFault(message: BundledCall["message"]): CallMessage | RpcError {
  try {
    return message();
  } catch (error) {
    if (error instanceof RpcError) return error;
    throw error;
  }
}
