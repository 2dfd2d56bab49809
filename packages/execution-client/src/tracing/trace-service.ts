import { BlockRun, type BlockSelector, type StoredBlock } from "@rnode/chain";
import type { EvmEngine, EvmTracer } from "@rnode/evm";
import { bytesToHex } from "@rnode/primitives";
import { encodeTransaction, hashTransaction } from "@rnode/protocol";
import type { JsonObject } from "../json/transaction-json.ts";
import { type ReadBackend, requireHeader, requireState, rpcError, rulesAt } from "../rpc/backend.ts";
import type { CallRequest } from "../rpc/call-request.ts";
import type { CallOverrides, CallService } from "../rpc/call-service.ts";
import { CallTracer, type CallTracerConfig } from "./call-tracer.ts";

export interface TraceRequest {
  /** undefined: the struct logger */
  readonly tracer: string | undefined;
  readonly config: CallTracerConfig;
}

/** Hands the hooks to a tracer that can be changed between transactions of a block. */
class SwitchTracer implements Required<EvmTracer> {
  target: EvmTracer | undefined;
  onStep: Required<EvmTracer>["onStep"] = (step) => this.target?.onStep?.(step);
  onEnter: Required<EvmTracer>["onEnter"] = (message) => this.target?.onEnter?.(message);
  onExit: Required<EvmTracer>["onExit"] = (result) => this.target?.onExit?.(result);
  onSelfDestruct: Required<EvmTracer>["onSelfDestruct"] = (self, beneficiary, balance) =>
    this.target?.onSelfDestruct?.(self, beneficiary, balance);
  onLog: Required<EvmTracer>["onLog"] = (address, topics, data) => this.target?.onLog?.(address, topics, data);
}

/** Executes again what was executed, and watches. */
export class TraceService {
  readonly #backend: ReadBackend;
  readonly #calls: CallService;
  readonly #engine: EvmEngine;
  readonly #create2DeployerCode: () => Uint8Array;

  constructor(backend: ReadBackend, calls: CallService, engine: EvmEngine, create2DeployerCode: () => Uint8Array) {
    this.#backend = backend;
    this.#calls = calls;
    this.#engine = engine;
    this.#create2DeployerCode = create2DeployerCode;
  }

  /** Traces of a block's transactions, or of the one at `only`. @throws {RpcError} */
  traceBlock(
    stored: StoredBlock,
    request: TraceRequest,
    only?: number,
  ): { readonly txHash: string; readonly result: JsonObject }[] {
    const newTracer = this.#tracerOf(request);
    const { block, senders } = stored;
    const { header, transactions } = block;
    const parent: BlockSelector = { kind: "hash", hash: header.parentHash, requireCanonical: false };
    const rules = rulesAt(this.#backend, header);
    const tracer = new SwitchTracer();
    this.#engine.setTracer(tracer);
    const run = new BlockRun({
      engine: this.#engine,
      config: this.#backend.chain.config,
      rules,
      parent: requireHeader(this.#backend, parent).header,
      header,
      reader: requireState(this.#backend, parent).state,
      create2DeployerCode: this.#create2DeployerCode,
    });
    const traces: { txHash: string; result: JsonObject }[] = [];
    for (const [index, tx] of transactions.entries()) {
      if (only !== undefined && index > only) break;
      const isWanted = only === undefined || index === only;
      const own = isWanted ? newTracer() : undefined;
      tracer.target = own;
      const applied = run.apply(tx, senders[index]!, encodeTransaction(tx));
      if (applied.kind === "rejected")
        throw new Error(`transaction ${index} of block ${header.number} is rejected when traced: ${applied.reason}`);
      if (own === undefined) continue;
      const { gasUsed, output, halt, createdAddress } = applied.outcome;
      const result = own.result({
        from: senders[index]!,
        to: tx.to,
        gasLimit: tx.gasLimit,
        gasUsed,
        value: tx.value,
        input: tx.data,
        output,
        halt,
        createdAddress,
      });
      traces.push({ txHash: bytesToHex(hashTransaction(tx)), result });
    }
    return traces;
  }

  /** `debug_traceCall`. @throws {RpcError} */
  traceCall(call: CallRequest, selector: BlockSelector, request: TraceRequest, overrides: CallOverrides): JsonObject {
    const tracer = this.#tracerOf(request)();
    const { execution, message } = this.#calls.prepare(call, selector, overrides, tracer);
    const { gasUsed, output, halt, createdAddress } = execution.call(message);
    const { from, to, gasLimit, value, data } = message;
    return tracer.result({ from, to, gasLimit, gasUsed, value, input: data, output, halt, createdAddress });
  }

  #tracerOf({ tracer, config }: TraceRequest): () => CallTracer {
    if (tracer === "callTracer") return () => new CallTracer(config);
    throw rpcError(this.#backend.profile.errors.unsupportedTracer(tracer ?? "structLogger"));
  }
}
