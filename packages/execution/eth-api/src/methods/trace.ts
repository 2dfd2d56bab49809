import {
  addressShape,
  arrayShape,
  dataShape,
  hashShape,
  INVALID_PARAMS,
  mapShape,
  objectShape,
  optionalParam,
  param,
  RpcError,
  rpcErrorOf,
  SERVER_ERROR,
  type Shape,
  ShapeError,
  shape,
  wordShape,
} from "@rnode/jsonrpc";
import { bytesToHex, isCodedError } from "@rnode/primitives";
import { decodeTransaction, isSigned, recoverSender, type SignedTransaction } from "@rnode/protocol";
import { blockNotFound, requireHeader, requireState } from "../backend/backend.ts";
import { sealed } from "../backend/pending-view.ts";
import type { Work } from "../backend/work.ts";
import type { JsonObject } from "../json/transaction-json.ts";
import { blockSelectorShape, LATEST } from "../params/block-selector.ts";
import { blockOverrideShape, type CallRequest, callRequestShape, stateOverrideShape } from "../params/call-request.ts";
import { numberOrQuantityShape } from "../params/number-or-quantity.ts";
import * as results from "../schemas/debug-results.ts";
import { OpcodeGasTracer } from "../tracing/opcode-gas-tracer.ts";
import { ReplayTracer, TRACE_TYPES, type TraceType } from "../tracing/parity-tracer.ts";
import type { TransactionTrace } from "../tracing/trace-service.ts";
import { findTraceable, findTraceableTransaction, requireTraceable, type TraceableBlock } from "../tracing/traceable-block.ts";
import { type TracerFactory, withDetail } from "../tracing/tracers.ts";
import { type ApiMethods, method } from "./method.ts";
import type { ReadServices } from "./services.ts";

const typesShape: Shape<ReadonlySet<TraceType>> = mapShape(arrayShape(wordShape(...TRACE_TYPES)), (types) => new Set(types));

/** A call and the types of traces wanted of it, as a two-element array. */
const callPairShape: Shape<{ readonly call: CallRequest; readonly types: ReadonlySet<TraceType> }> = shape(
  { type: "array", prefixItems: [callRequestShape.schema, typesShape.schema], minItems: 2, maxItems: 2 },
  (value) => {
    if (!Array.isArray(value) || value.length !== 2) throw new ShapeError("expected [call, types]");
    return { call: callRequestShape.parse(value[0]), types: typesShape.parse(value[1]) };
  },
);

const filterShape = objectShape(
  {},
  {
    fromBlock: blockSelectorShape,
    toBlock: blockSelectorShape,
    fromAddress: arrayShape(addressShape),
    toAddress: arrayShape(addressShape),
    mode: wordShape("union", "intersection"),
    after: numberOrQuantityShape,
    count: numberOrQuantityShape,
  },
);
type Filter = ReturnType<typeof filterShape.parse>;

/** Parity's traces, compatible with Reth. */
export function traceMethods(services: ReadServices): ApiMethods {
  const { backend, traces } = services;
  const { profile } = backend;
  const types = param("types", typesShape);
  const block = optionalParam("block", blockSelectorShape);
  const replayer = (wanted: ReadonlySet<TraceType>): TracerFactory =>
    withDetail(
      wanted.has("vmTrace") ? "steps" : wanted.has("stateDiff") ? "touches" : "messages",
      (rules) => new ReplayTracer(wanted, profile.traces, rules),
    );

  const newOpcodeGas = () => new OpcodeGasTracer(profile.traces);
  const ofTransaction = async (work: Work, hash: Uint8Array): Promise<JsonObject[] | null> => {
    const found = findTraceableTransaction(backend, hash);
    return found === undefined ? null : traces.placedTraces(work, found.stored, { only: found.index });
  };

  return {
    trace_block: method({
      runs: "reader",
      cost: "trace",
      result: results.placedTraces,
      params: [param("block", blockSelectorShape)],
      handler: ([selector], work) => {
        const stored = findTraceable(backend, selector);
        if (stored === undefined) throw blockNotFound(backend, selector);
        return traces.placedTraces(work, stored);
      },
    }),
    trace_transaction: method({
      runs: "reader",
      cost: "trace",
      result: results.placedTraces,
      params: [param("hash", hashShape)],
      handler: ([hash], work) => ofTransaction(work, hash),
    }),
    trace_get: method({
      runs: "reader",
      cost: "trace",
      result: results.placedTrace,
      params: [param("hash", hashShape), param("indices", arrayShape(numberOrQuantityShape))],
      summary: "One trace of a transaction by its position in the list; several indices find none.",
      handler: async ([hash, indices], work) =>
        indices.length === 1 ? ((await ofTransaction(work, hash))?.[indices[0]!] ?? null) : null,
    }),
    trace_filter: method({
      runs: "reader",
      cost: "trace",
      result: results.placedTraces,
      params: [param("filter", filterShape)],
      handler: ([filter], work) =>
        traces.inSlot(work, (slot) => filtered(services, filter, (stored) => traces.placedTracesIn(slot, stored))),
    }),
    trace_replayTransaction: method({
      runs: "reader",
      cost: "trace",
      result: results.replay,
      params: [param("hash", hashShape), types],
      handler: async ([hash, wanted], work) => {
        const found = findTraceableTransaction(backend, hash);
        if (found === undefined) throw rpcErrorOf(profile.errors.transactionNotFound);
        const [trace] = await traces.traceBlock(work, found.stored, { newTracer: replayer(wanted), only: found.index });
        return trace!.result;
      },
    }),
    trace_replayBlockTransactions: method({
      runs: "reader",
      cost: "trace",
      result: results.replays,
      params: [param("block", blockSelectorShape), types],
      handler: async ([selector, wanted], work) => {
        const stored = findTraceable(backend, selector);
        if (stored === undefined) return null;
        const found = await traces.traceBlock(work, stored, { newTracer: replayer(wanted) });
        return found.map(({ result, hash }) => ({ ...(result as JsonObject), transactionHash: bytesToHex(hash) }));
      },
    }),
    trace_call: method({
      runs: "reader",
      cost: "trace",
      result: results.replay,
      params: [
        param("call", callRequestShape),
        types,
        block,
        optionalParam("stateOverrides", stateOverrideShape),
        optionalParam("blockOverrides", blockOverrideShape),
      ],
      handler: async ([call, wanted, selector, state, blockOverride], work) => {
        const one = { call, newTracer: replayer(wanted) };
        const [trace] = await traces.traceCalls(work, [one], selector ?? LATEST, { state, block: blockOverride });
        return trace!.result;
      },
    }),
    trace_callMany: method({
      runs: "reader",
      cost: "trace",
      result: results.replays,
      params: [param("calls", arrayShape(callPairShape)), block],
      summary: "Calls one after another, each on the state that the one before left.",
      handler: async ([calls, selector], work) => {
        const traced = calls.map(({ call, types: wanted }) => ({ call, newTracer: replayer(wanted) }));
        return (await traces.traceCalls(work, traced, selector ?? LATEST)).map(({ result }) => result);
      },
    }),
    trace_transactionOpcodeGas: method({
      runs: "reader",
      cost: "trace",
      result: results.opcodeGas,
      params: [param("hash", hashShape)],
      summary: "How often each instruction of a transaction ran, and its gas in all; calls with the gas that they handed on.",
      handler: async ([hash], work) => {
        const found = findTraceableTransaction(backend, hash);
        if (found === undefined) return null;
        const [trace] = await traces.traceBlock(work, found.stored, { newTracer: newOpcodeGas, only: found.index });
        return opcodeGasToJson(trace!);
      },
    }),
    trace_blockOpcodeGas: method({
      runs: "reader",
      cost: "trace",
      result: results.blockOpcodeGas,
      params: [param("block", blockSelectorShape)],
      summary: "The same for each transaction of a block.",
      handler: async ([selector], work) => {
        const stored = requireTraceable(backend, selector);
        const found = await traces.traceBlock(work, stored, { newTracer: newOpcodeGas });
        return {
          blockHash: bytesToHex(stored.hash),
          blockNumber: stored.block.header.number,
          transactions: found.map(opcodeGasToJson),
        };
      },
    }),
    trace_rawTransaction: method({
      runs: "reader",
      cost: "trace",
      result: results.replay,
      params: [param("transaction", dataShape), types, block],
      handler: async ([raw, wanted, selector], work) => {
        const at = selector ?? LATEST;
        const call = callOfRaw(raw, services);
        const next = requireState(backend, at).state.readAccount(call.from!)?.nonce ?? 0n;
        if (call.nonce! < next) throw new RpcError(SERVER_ERROR, `nonce too low: next nonce ${next}, tx nonce ${call.nonce}`);
        if (call.nonce! > next) throw new RpcError(SERVER_ERROR, "nonce too high");
        const one = { call, newTracer: replayer(wanted) };
        const [trace] = await traces.traceCalls(work, [one], at);
        return trace!.result;
      },
    }),
  };
}

const opcodeGasToJson = ({ hash, result }: TransactionTrace): JsonObject => ({
  transactionHash: bytesToHex(hash),
  opcodeGas: result,
});

/** @throws {RpcError} undecodable, unsigned or badly signed, as for `eth_sendRawTransaction` */
function callOfRaw(raw: Uint8Array, { backend }: ReadServices): CallRequest {
  const { submission } = backend.profile.errors;
  if (raw.length === 0) throw rpcErrorOf(submission({ kind: "empty" }));
  let tx: SignedTransaction;
  let from: Uint8Array;
  try {
    const decoded = decodeTransaction(raw);
    if (!isSigned(decoded)) throw rpcErrorOf(submission({ kind: "type-not-supported" }));
    tx = decoded;
    from = recoverSender(tx);
  } catch (error) {
    if (isCodedError(error)) throw rpcErrorOf(submission({ kind: "undecodable", raw, error }));
    throw error;
  }
  const { to, value, data, gasLimit, nonce } = tx;
  return {
    ...callRequestShape.parse({}),
    from,
    to,
    value,
    data,
    gas: gasLimit,
    nonce,
    ...("gasPrice" in tx
      ? { gasPrice: tx.gasPrice }
      : { maxFeePerGas: tx.maxFeePerGas, maxPriorityFeePerGas: tx.maxPriorityFeePerGas }),
    ...("accessList" in tx && { accessList: [...tx.accessList] }),
    ...(tx.type === 0x04 && { authorizationList: [...tx.authorizationList] }),
  };
}

async function filtered(
  { backend, maxTraceFilterBlocks }: ReadServices,
  filter: Filter,
  tracesOf: (stored: TraceableBlock) => Promise<JsonObject[]>,
): Promise<JsonObject[]> {
  const from = filter.fromBlock === undefined ? 0 : requireHeader(backend, sealed(filter.fromBlock)).header.number;
  const to = requireHeader(backend, sealed(filter.toBlock ?? LATEST)).header.number;
  if (from > to) throw new RpcError(INVALID_PARAMS, "invalid parameters: fromBlock cannot be greater than toBlock");
  if (to - from + 1 > maxTraceFilterBlocks) {
    throw new RpcError(
      INVALID_PARAMS,
      `Block range too large; currently limited to ${maxTraceFilterBlocks} blocks`,
      `retry with the range ${from}-${from + maxTraceFilterBlocks - 1}`,
    );
  }
  const matches = matcher(filter);
  const after = filter.after ?? 0;
  const end = filter.count === undefined ? Number.POSITIVE_INFINITY : after + filter.count;
  const found: JsonObject[] = [];
  for (let number = from; number <= to && found.length < end; number++) {
    const stored = findTraceable(backend, { kind: "number", number });
    if (stored !== undefined) found.push(...(await tracesOf(stored)).filter(matches));
  }
  return found.slice(after, end);
}

/** A list of addresses that is missing matches everything. With both lists, a match in one is enough unless the mode is intersection. */
function matcher({ fromAddress = [], toAddress = [], mode = "union" }: Filter): (trace: JsonObject) => boolean {
  const senders = new Set<unknown>(fromAddress.map(bytesToHex));
  const targets = new Set<unknown>(toAddress.map(bytesToHex));
  return ({ action, result }) => {
    const { from, to, address, refundAddress } = action as JsonObject;
    const isFrom = senders.has(from ?? address);
    const isTo = targets.has(to ?? refundAddress ?? (result as JsonObject | null)?.address);
    if (senders.size === 0) return targets.size === 0 || isTo;
    if (targets.size === 0) return isFrom;
    return mode === "union" ? isFrom || isTo : isFrom && isTo;
  };
}
