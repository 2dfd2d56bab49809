import { booleanShape, hashShape, type MethodTable, method, objectShape, optionalParam, param, textShape } from "@rnode/jsonrpc";
import { findTransaction, requireBlock, rpcError } from "../rpc/backend.ts";
import { blockNumberShape, blockSelectorShape, LATEST } from "../rpc/block-selector.ts";
import { blockOverrideShape, callRequestShape, stateOverrideShape } from "../rpc/call-request.ts";
import type { TraceRequest } from "../tracing/trace-service.ts";
import type { RpcServices } from "./services.ts";

const traceFields = {
  tracer: textShape,
  tracerConfig: objectShape({}, { onlyTopCall: booleanShape, withLog: booleanShape }),
  timeout: textShape,
};
const traceOptionsShape = objectShape({}, traceFields);
const traceCallOptionsShape = objectShape(
  {},
  { ...traceFields, stateOverrides: stateOverrideShape, blockOverrides: blockOverrideShape },
);

const requestOf = (options: ReturnType<typeof traceOptionsShape.parse> | undefined): TraceRequest => ({
  tracer: options?.tracer,
  config: { onlyTopCall: options?.tracerConfig?.onlyTopCall ?? false, withLog: options?.tracerConfig?.withLog ?? false },
});

export function debugTraceMethods({ backend, traces }: RpcServices): MethodTable {
  return {
    debug_traceTransaction: method({
      params: [param("hash", hashShape), optionalParam("options", traceOptionsShape)],
      handler: ([hash, options]) => {
        const found = findTransaction(backend, hash);
        if (found === undefined) throw rpcError(backend.profile.errors.transactionNotFound);
        return traces.traceBlock(found.stored, requestOf(options), found.index)[0]!.result;
      },
    }),
    debug_traceCall: method({
      params: [
        param("call", callRequestShape),
        optionalParam("block", blockSelectorShape),
        optionalParam("options", traceCallOptionsShape),
      ],
      handler: ([call, selector, options]) =>
        traces.traceCall(call, selector ?? LATEST, requestOf(options), {
          state: options?.stateOverrides,
          block: options?.blockOverrides,
        }),
    }),
    debug_traceBlockByNumber: method({
      params: [param("block", blockNumberShape), optionalParam("options", traceOptionsShape)],
      handler: ([selector, options]) => traces.traceBlock(requireBlock(backend, selector), requestOf(options)),
    }),
    debug_traceBlockByHash: method({
      params: [param("hash", hashShape), optionalParam("options", traceOptionsShape)],
      handler: ([hash, options]) =>
        traces.traceBlock(requireBlock(backend, { kind: "hash", hash, requireCanonical: false }), requestOf(options)),
    }),
  };
}
