import type { BlockSelector, StoredBlock } from "@rnode/chain";
import { dataShape, hashShape, type MethodTable, method, optionalParam, param, RpcError } from "@rnode/jsonrpc";
import { isCodedError } from "@rnode/primitives";
import { decodeBlock } from "@rnode/protocol";
import { findTransaction, rpcError } from "../rpc/backend.ts";
import { blockNumberShape, blockSelectorShape, LATEST } from "../rpc/block-selector.ts";
import { callRequestShape } from "../rpc/call-request.ts";
import { NO_TRACE_OPTIONS, traceCallOptionsShape, traceOptionsShape } from "../tracing/trace-options.ts";
import type { TraceableBlock, TraceService } from "../tracing/trace-service.ts";
import * as results from "./debug-results.ts";
import type { RpcServices } from "./services.ts";

const INVALID_INPUT = -32_000;

export function debugTraceMethods({ backend, traces }: RpcServices): MethodTable {
  const options = optionalParam("options", traceOptionsShape);
  const tracedBlock = (selector: BlockSelector): StoredBlock => {
    const stored = backend.chain.resolve(selector);
    if (stored === undefined) throw rpcError(backend.profile.errors.tracedBlockNotFound(selector));
    return stored;
  };
  return {
    debug_traceTransaction: method({
      result: results.trace,
      params: [param("hash", hashShape), options],
      handler: ([hash, request]) => {
        const found = findTransaction(backend, hash);
        if (found === undefined) throw rpcError(backend.profile.errors.tracedTransactionNotFound);
        return traces.debugTransaction(found.stored, found.index, request ?? NO_TRACE_OPTIONS);
      },
    }),
    debug_traceCall: method({
      result: results.trace,
      params: [
        param("call", callRequestShape),
        optionalParam("block", blockSelectorShape),
        optionalParam("options", traceCallOptionsShape),
      ],
      handler: ([call, selector, given]) =>
        traces.debugCall(call, selector ?? LATEST, given?.request ?? NO_TRACE_OPTIONS, given?.overrides ?? {}),
    }),
    debug_traceBlockByNumber: method({
      result: results.transactionTraces,
      params: [param("block", blockNumberShape), options],
      handler: ([selector, request]) => traces.debugBlock(tracedBlock(selector), request ?? NO_TRACE_OPTIONS),
    }),
    debug_traceBlockByHash: method({
      result: results.transactionTraces,
      params: [param("hash", hashShape), options],
      handler: ([hash, request]) => {
        const stored = tracedBlock({ kind: "hash", hash, requireCanonical: false });
        return traces.debugBlock(stored, request ?? NO_TRACE_OPTIONS);
      },
    }),
    debug_traceBlock: method({
      result: results.transactionTraces,
      params: [param("rlp", dataShape), options],
      summary: "Traces a block given as RLP; its parent must be known.",
      handler: ([rlp, request]) => traces.debugBlock(decoded(rlp, traces), request ?? NO_TRACE_OPTIONS),
    }),
  };
}

/** @throws {RpcError} not a block */
function decoded(rlp: Uint8Array, traces: TraceService): TraceableBlock {
  try {
    return traces.traceable(decodeBlock(rlp));
  } catch (error) {
    if (isCodedError(error)) throw new RpcError(INVALID_INPUT, `could not decode block: ${error.message}`);
    throw error;
  }
}
