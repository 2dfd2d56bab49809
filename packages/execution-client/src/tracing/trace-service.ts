import { BlockRun, type BlockSelector, newEngine, type StoredBlock } from "@rnode/chain";
import type { BlockExecution, CallMessage, CallOutcome, EvmEngine, StateReader } from "@rnode/evm";
import { bytesToHex } from "@rnode/primitives";
import { encodeTransaction, type Header, hashTransaction, recoverAuthority, type Transaction } from "@rnode/protocol";
import { type ReadBackend, requireHeader, requireState, rpcError, rulesAt } from "../rpc/backend.ts";
import type { CallRequest } from "../rpc/call-request.ts";
import type { CallOverrides, CallService } from "../rpc/call-service.ts";
import type { TraceRequest } from "./trace-options.ts";
import { TracerSwitch } from "./tracer-switch.ts";
import { type TracerFactory, tracerFactory } from "./tracers.ts";
import type { TracedMessage, TracePlace, TransactionTracer } from "./transaction-tracer.ts";

const DEFAULT_TIMEOUT_MS = 5000;

/** What one transaction of a block gave. */
export interface TransactionTrace {
  readonly index: number;
  readonly hash: Uint8Array;
  readonly result: unknown;
}

/** A block to be traced: without its receipts, it need not be one of ours. */
export type TraceableBlock = Pick<StoredBlock, "block" | "hash" | "senders">;

export interface BlockTraceOptions {
  readonly newTracer: TracerFactory;
  /** of each transaction */
  readonly timeoutMs?: number | undefined;
  /** index of the one transaction that is wanted */
  readonly only?: number | undefined;
}

/** Executes again what was executed, and watches. */
export class TraceService {
  readonly #backend: ReadBackend;
  readonly #calls: CallService;
  readonly #engine: EvmEngine;
  readonly #create2DeployerCode: () => Uint8Array;
  readonly #nowMs: () => number;
  /** made when it is first needed; remembers no code between blocks, so that every code is read again */
  #recordingEngine: EvmEngine | undefined;

  constructor(
    backend: ReadBackend,
    calls: CallService,
    engine: EvmEngine,
    create2DeployerCode: () => Uint8Array,
    nowMs: () => number = () => performance.now(),
  ) {
    this.#backend = backend;
    this.#calls = calls;
    this.#engine = engine;
    this.#create2DeployerCode = create2DeployerCode;
    this.#nowMs = nowMs;
  }

  /** `debug_traceBlock…`. @throws {RpcError} */
  debugBlock(stored: TraceableBlock, request: TraceRequest): { readonly txHash: string; readonly result: unknown }[] {
    const newTracer = tracerFactory(this.#backend.profile, request);
    if (stored.block.header.number === 0) throw rpcError(this.#backend.profile.errors.genesisNotTraceable);
    return this.traceBlock(stored, { newTracer, timeoutMs: request.timeoutMs }).map(({ hash, result }) => ({
      txHash: bytesToHex(hash),
      result,
    }));
  }

  /** `debug_traceTransaction`. @throws {RpcError} */
  debugTransaction(stored: TraceableBlock, only: number, request: TraceRequest): unknown {
    const newTracer = tracerFactory(this.#backend.profile, request);
    return this.traceBlock(stored, { newTracer, timeoutMs: request.timeoutMs, only })[0]!.result;
  }

  /** `debug_traceCall`. @throws {RpcError} */
  debugCall(call: CallRequest, selector: BlockSelector, request: TraceRequest, overrides: CallOverrides): unknown {
    const newTracer = tracerFactory(this.#backend.profile, request);
    return this.traceCalls([{ call, newTracer }], selector, overrides, request.timeoutMs)[0]!.result;
  }

  /** Results of a block's transactions, or of one. @throws {RpcError} */
  traceBlock(stored: TraceableBlock, { newTracer, timeoutMs, only }: BlockTraceOptions): TransactionTrace[] {
    const { block, senders, hash } = stored;
    const { header, transactions } = block;
    if (transactions.length === 0) return [];
    const watcher = new TracerSwitch(this.#nowMs);
    const run = this.beginBlock(stored, watcher);
    const traces: TransactionTrace[] = [];
    for (const [index, transaction] of transactions.entries()) {
      if (only !== undefined && index > only) break;
      const isWanted = only === undefined || index === only;
      const tracer = isWanted ? newTracer(run.execution.rules) : undefined;
      const sender = senders[index]!;
      if (tracer === undefined) watcher.rest();
      else {
        const place: TracePlace = {
          blockHash: hash,
          blockNumber: header.number,
          transactionHash: hashTransaction(transaction),
          transactionIndex: index,
        };
        start(tracer, run.execution, tracedTransaction(transaction, sender), place);
        watcher.watch(tracer, timeoutMs ?? DEFAULT_TIMEOUT_MS);
      }
      const applied = run.apply(transaction, sender, encodeTransaction(transaction));
      watcher.rest();
      if (applied.kind === "rejected")
        throw new Error(`transaction ${index} of block ${header.number} is rejected when traced: ${applied.reason}`);
      if (tracer !== undefined) traces.push({ index, hash: hashTransaction(transaction), result: tracer.result(applied.outcome) });
    }
    return traces;
  }

  /** Calls one after another on the state after a block, each on what the one before left. @throws {RpcError} */
  traceCalls(
    calls: readonly { readonly call: CallRequest; readonly newTracer: TracerFactory }[],
    selector: BlockSelector,
    overrides: CallOverrides = {},
    timeoutMs = DEFAULT_TIMEOUT_MS,
  ): { readonly outcome: CallOutcome; readonly result: unknown }[] {
    const [first] = calls;
    if (first === undefined) return [];
    const watcher = new TracerSwitch(this.#nowMs);
    const { execution, message } = this.#calls.prepare(first.call, selector, overrides, watcher);
    return calls.map(({ call, newTracer }, index) => {
      const own = index === 0 ? message : this.#calls.message(execution, call);
      const tracer = newTracer(execution.rules);
      start(tracer, execution, tracedCall(own), undefined);
      watcher.watch(tracer, timeoutMs);
      const outcome = execution.applyMessage(own);
      watcher.rest();
      return { outcome, result: tracer.result(outcome) };
    });
  }

  /** A block on the state of its parent, its system calls done. @throws {RpcError} */
  beginBlock({ block }: Pick<TraceableBlock, "block">, watcher?: TracerSwitch): BlockRun {
    this.#engine.setTracer(watcher);
    const parent = parentSelector(block.header);
    return this.#begin(block.header, this.#engine, requireState(this.#backend, parent).state);
  }

  /** The same, with everything that is read of the parent's state read through `reader`. @throws {RpcError} */
  beginRecordedBlock({ block }: Pick<TraceableBlock, "block">, reader: StateReader): BlockRun {
    this.#recordingEngine ??= newEngine({ codeCacheBytes: 0 });
    return this.#begin(block.header, this.#recordingEngine, reader);
  }

  #begin(header: Header, engine: EvmEngine, reader: StateReader): BlockRun {
    return new BlockRun({
      engine,
      config: this.#backend.chain.config,
      rules: rulesAt(this.#backend, header),
      parent: requireHeader(this.#backend, parentSelector(header)).header,
      header,
      reader,
      create2DeployerCode: this.#create2DeployerCode,
    });
  }
}

const parentSelector = ({ parentHash }: Header): BlockSelector => ({ kind: "hash", hash: parentHash, requireCanonical: false });

function start(tracer: TransactionTracer, execution: BlockExecution, message: TracedMessage, place: TracePlace | undefined): void {
  const { rules, environment } = execution;
  tracer.onStart?.({ message, rules, beneficiary: environment.beneficiary, state: execution, place });
}

function tracedTransaction(tx: Transaction, from: Uint8Array): TracedMessage {
  const { to, gasLimit, value, data } = tx;
  const delegations = tx.type === 0x04 ? delegationsOf(tx.authorizationList) : [];
  return { from, to, gasLimit, value, input: data, delegations, isDeposit: tx.type === 0x7e };
}

const tracedCall = ({ from, to, gasLimit, value, data, authorizationList }: CallMessage): TracedMessage => ({
  from,
  to,
  gasLimit,
  value,
  input: data,
  delegations: delegationsOf(authorizationList ?? []),
  isDeposit: false,
});

function delegationsOf(list: NonNullable<CallMessage["authorizationList"]>): TracedMessage["delegations"] {
  return list.flatMap((authorization) => {
    const authority = recoverAuthority(authorization);
    return authority === undefined ? [] : [{ authority, target: authorization.address }];
  });
}
