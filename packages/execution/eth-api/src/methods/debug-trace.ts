import type { BlockSelector } from "@rnode/chain";
import { dataShape, hashShape, INVALID_PARAMS, optionalParam, param, RpcError, rpcErrorOf, toRpcError } from "@rnode/jsonrpc";
import { decodeBlock } from "@rnode/protocol";
import type { Work } from "../backend/work.ts";
import type { CallOverrides } from "../calls/call-service.ts";
import { blockNumberShape, blockSelectorShape, LATEST } from "../params/block-selector.ts";
import { type CallRequest, callRequestShape } from "../params/call-request.ts";
import { NO_TRACE_OPTIONS, type TraceRequest, traceCallOptionsShape, traceOptionsShape } from "../params/trace-options.ts";
import * as results from "../schemas/debug-results.ts";
import { CallBundles } from "../tracing/call-bundles.ts";
import type { TraceService } from "../tracing/trace-service.ts";
import { findTraceable, findTraceableTransaction, type TraceableBlock } from "../tracing/traceable-block.ts";
import { tracerFactory } from "../tracing/tracers.ts";
import { type ApiMethods, method } from "./method.ts";
import type { ReadServices } from "./services.ts";

const INVALID_INPUT = -32_000;

export function debugTraceMethods({ backend, calls, traces }: ReadServices): ApiMethods {
  const options = optionalParam("options", traceOptionsShape);
  const tracedBlock = (selector: BlockSelector): TraceableBlock => {
    const stored = findTraceable(backend, selector);
    if (stored === undefined) throw rpcErrorOf(backend.profile.errors.tracedBlockNotFound(selector));
    return stored;
  };
  const bundles = new CallBundles(backend, calls, traces);
  async function tracedAt(
    work: Work,
    call: CallRequest,
    selector: BlockSelector,
    index: number,
    request: TraceRequest,
    overrides: CallOverrides,
  ): Promise<unknown> {
    const { transactions } = tracedBlock(selector).block;
    if (index >= transactions.length)
      throw new RpcError(INVALID_PARAMS, `txIndex ${index} is not one of the ${transactions.length} transactions of the block`);
    const newTracer = tracerFactory(backend.profile, request);
    const [own] = await bundles.run(
      work,
      [{ transactions: [call], blockOverride: overrides.block }],
      { selector, transactions: index, stateOverrides: overrides.state, detail: newTracer.detail },
      ({ execution, watcher, message }) => traces.traceMessage(watcher, execution, message(), newTracer, request.timeoutMs).result,
    );
    return own![0];
  }

  return {
    debug_traceTransaction: method({
      runs: "reader",
      cost: "trace",
      result: results.trace,
      params: [param("hash", hashShape), options],
      handler: ([hash, request], work) => {
        const found = findTraceableTransaction(backend, hash);
        if (found === undefined) throw rpcErrorOf(backend.profile.errors.tracedTransactionNotFound);
        return traces.debugTransaction(work, found.stored, found.index, request ?? NO_TRACE_OPTIONS);
      },
    }),
    debug_traceCall: method({
      runs: "reader",
      cost: "trace",
      result: results.trace,
      params: [
        param("call", callRequestShape),
        optionalParam("block", blockSelectorShape),
        optionalParam("options", traceCallOptionsShape),
      ],
      summary: "Traces a call on the state after a block, or, with `txIndex`, before a transaction of it.",
      handler: ([call, selector = LATEST, given], work) => {
        const { request, overrides, txIndex } = given ?? { request: NO_TRACE_OPTIONS, overrides: {} };
        return txIndex === undefined
          ? traces.debugCall(work, call, selector, request, overrides)
          : tracedAt(work, call, selector, txIndex, request, overrides);
      },
    }),
    debug_traceBlockByNumber: method({
      runs: "reader",
      cost: "trace",
      result: results.transactionTraces,
      params: [param("block", blockNumberShape), options],
      handler: ([selector, request], work) => traces.debugBlock(work, tracedBlock(selector), request ?? NO_TRACE_OPTIONS),
    }),
    debug_traceBlockByHash: method({
      runs: "reader",
      cost: "trace",
      result: results.transactionTraces,
      params: [param("hash", hashShape), options],
      handler: ([hash, request], work) => {
        const stored = tracedBlock({ kind: "hash", hash, requireCanonical: false });
        return traces.debugBlock(work, stored, request ?? NO_TRACE_OPTIONS);
      },
    }),
    debug_traceBlock: method({
      runs: "reader",
      cost: "trace",
      result: results.transactionTraces,
      params: [param("rlp", dataShape), options],
      summary: "Traces a block given as RLP; its parent must be known.",
      handler: ([rlp, request], work) => traces.debugBlock(work, decoded(rlp, traces), request ?? NO_TRACE_OPTIONS),
    }),
  };
}

/** @throws {RpcError} not a block */
function decoded(rlp: Uint8Array, traces: TraceService): TraceableBlock {
  try {
    return traces.traceable(decodeBlock(rlp));
  } catch (error) {
    throw toRpcError(error, { code: INVALID_INPUT, message: ({ message }) => `could not decode block: ${message}` });
  }
}
