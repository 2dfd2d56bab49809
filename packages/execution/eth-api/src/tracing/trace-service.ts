import { BlockRun, type BlockSelector, newEngine, readGasRefunds, type UnsealedHeader } from "@rnode/chain";
import type { BlockExecution, CallMessage, CallOutcome, StateReader, TraceDetail } from "@rnode/evm";
import { rpcErrorOf } from "@rnode/jsonrpc";
import { bytesToHex, isCodedError, ZERO_ADDRESS } from "@rnode/primitives";
import {
  type Block,
  encodeTransaction,
  type GasRefunds,
  type Header,
  hashHeader,
  hashTransaction,
  recoverAuthority,
  recoverSender,
  type Transaction,
} from "@rnode/protocol";
import { type ReadBackend, requireHeader, requireState, rulesAt } from "../backend/backend.ts";
import type { Work } from "../backend/work.ts";
import type { CallOverrides, CallService } from "../calls/call-service.ts";
import type { JsonObject } from "../json/transaction-json.ts";
import { LATEST } from "../params/block-selector.ts";
import type { CallRequest } from "../params/call-request.ts";
import type { TraceRequest } from "../params/trace-options.ts";
import { type ExecutionSlot, ExecutionSlots, type SlotLimits } from "./execution-slots.ts";
import { PlacedTracer } from "./parity-tracer.ts";
import type { TraceableBlock } from "./traceable-block.ts";
import { TracerSwitch } from "./tracer-switch.ts";
import { type TracerFactory, tracerFactory, widestDetail, withDetail } from "./tracers.ts";
import type { TracedMessage, TracePlace, TransactionTracer } from "./transaction-tracer.ts";

const DEFAULT_TIMEOUT_MS = 5000;

/** The result for one transaction of a block. */
export interface TransactionTrace {
  readonly index: number;
  readonly hash: Uint8Array;
  readonly result: unknown;
}

/** The result for a call. */
export interface CallTrace {
  readonly outcome: CallOutcome;
  readonly result: unknown;
}

export interface BlockTraceOptions {
  readonly newTracer: TracerFactory;
  /** limit for each transaction */
  readonly timeoutMs?: number | undefined;
  /** index of the only requested transaction; undefined: all */
  readonly only?: number | undefined;
}

type PlacedTraceOptions = Omit<BlockTraceOptions, "newTracer">;

/** A call to be traced. */
export interface TracedCall {
  readonly call: CallRequest;
  readonly newTracer: TracerFactory;
}

export interface TraceServiceOptions {
  readonly limits: SlotLimits;
  readonly create2DeployerCode: () => Uint8Array;
  readonly nowMs?: (() => number) | undefined;
  /** limit for the decoded code that each engine caches */
  readonly codeCacheBytes?: number | undefined;
}

/**
 * Executes blocks and calls again under tracers. Each request has an engine to itself and yields to others between transactions. The
 * number of requests that run at once, and the time of each, are limited.
 */
export class TraceService {
  readonly #backend: ReadBackend;
  readonly #calls: CallService;
  readonly #create2DeployerCode: () => Uint8Array;
  readonly #nowMs: () => number;
  readonly #slots: ExecutionSlots;
  /** slots whose engines keep no code between blocks, so that each code is read again */
  readonly #recordingSlots: ExecutionSlots;

  constructor(
    backend: ReadBackend,
    calls: CallService,
    { limits, create2DeployerCode, nowMs, codeCacheBytes }: TraceServiceOptions,
  ) {
    this.#backend = backend;
    this.#calls = calls;
    this.#create2DeployerCode = create2DeployerCode;
    this.#nowMs = nowMs ?? (() => performance.now());
    this.#slots = new ExecutionSlots(limits, () => newEngine({ codeCacheBytes }), this.#nowMs);
    this.#recordingSlots = new ExecutionSlots({ ...limits, maxRunning: 1 }, () => newEngine({ codeCacheBytes: 0 }), this.#nowMs);
  }

  /** `debug_traceBlock…`. @throws {RpcError} */
  async debugBlock(work: Work, stored: TraceableBlock, request: TraceRequest): Promise<{ txHash: string; result: unknown }[]> {
    const newTracer = tracerFactory(this.#backend.profile, request);
    if (stored.block.header.number === 0) throw rpcErrorOf(this.#backend.profile.errors.genesisNotTraceable);
    const traces = await this.traceBlock(work, stored, { newTracer, timeoutMs: request.timeoutMs });
    return traces.map(({ hash, result }) => ({ txHash: bytesToHex(hash), result }));
  }

  /** `debug_traceTransaction`. @throws {RpcError} */
  async debugTransaction(work: Work, stored: TraceableBlock, only: number, request: TraceRequest): Promise<unknown> {
    const newTracer = tracerFactory(this.#backend.profile, request);
    const [trace] = await this.traceBlock(work, stored, { newTracer, timeoutMs: request.timeoutMs, only });
    return trace!.result;
  }

  /** `debug_traceCall`. @throws {RpcError} */
  async debugCall(
    work: Work,
    call: CallRequest,
    selector: BlockSelector,
    request: TraceRequest,
    overrides: CallOverrides,
  ): Promise<unknown> {
    const newTracer = tracerFactory(this.#backend.profile, request);
    const [trace] = await this.traceCalls(work, [{ call, newTracer }], selector, overrides, request.timeoutMs);
    return trace!.result;
  }

  /** The results for all transactions of a block, or for one. @throws {RpcError} */
  traceBlock(work: Work, stored: TraceableBlock, options: BlockTraceOptions): Promise<TransactionTrace[]> {
    return this.inSlot(work, (slot) => this.traceBlockIn(slot, stored, options));
  }

  /** The same, as part of a longer request. @throws {RpcError} */
  async traceBlockIn(
    slot: ExecutionSlot,
    stored: TraceableBlock,
    { newTracer, timeoutMs, only }: BlockTraceOptions,
  ): Promise<TransactionTrace[]> {
    const { block, senders, hash } = stored;
    const { header, transactions } = block;
    if (transactions.length === 0) return [];
    const watcher = this.newSwitch(slot, newTracer.detail);
    const run = this.beginBlock(slot, stored, watcher);
    const traces: TransactionTrace[] = [];
    for (const [index, transaction] of transactions.entries()) {
      if (only !== undefined && index > only) break;
      await slot.pause();
      const isWanted = only === undefined || index === only;
      const tracer = isWanted ? newTracer(run.execution.rules) : undefined;
      const sender = senders[index]!;
      if (tracer !== undefined) {
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

  /** Parity's traces of a block's transactions, or of one, with their places. @throws {RpcError} */
  placedTraces(work: Work, stored: TraceableBlock, options?: PlacedTraceOptions): Promise<JsonObject[]> {
    return this.inSlot(work, (slot) => this.placedTracesIn(slot, stored, options));
  }

  /** The same, as part of a longer request. @throws {RpcError} */
  async placedTracesIn(slot: ExecutionSlot, stored: TraceableBlock, options?: PlacedTraceOptions): Promise<JsonObject[]> {
    const newTracer = withDetail("messages", () => new PlacedTracer(this.#backend.profile.traces));
    const found = await this.traceBlockIn(slot, stored, { ...options, newTracer });
    return found.flatMap(({ result }) => result as JsonObject[]);
  }

  /** Runs calls one after another on the state after a block; each sees the effects of those before it. @throws {RpcError} */
  traceCalls(
    work: Work,
    calls: readonly TracedCall[],
    selector: BlockSelector,
    overrides: CallOverrides = {},
    timeoutMs = DEFAULT_TIMEOUT_MS,
  ): Promise<CallTrace[]> {
    const [first] = calls;
    if (first === undefined) return Promise.resolve([]);
    return this.inSlot(work, async (slot) => {
      const watcher = this.newSwitch(slot, widestDetail(calls.map(({ newTracer }) => newTracer)));
      const { execution, message } = this.#calls.prepare(first.call, selector, overrides, { tracer: watcher, engine: slot.engine });
      const traces: CallTrace[] = [];
      for (const [index, { call, newTracer }] of calls.entries()) {
        await slot.pause();
        const own = index === 0 ? message : this.#calls.message(execution, call);
        traces.push(this.traceMessage(watcher, execution, own, newTracer, timeoutMs));
      }
      return traces;
    });
  }

  /** Runs one message on a block in progress, whose engine uses `watcher` as its tracer. */
  traceMessage(
    watcher: TracerSwitch,
    execution: BlockExecution,
    message: CallMessage,
    newTracer: TracerFactory,
    timeoutMs = DEFAULT_TIMEOUT_MS,
  ): CallTrace {
    const tracer = newTracer(execution.rules);
    start(tracer, execution, tracedCall(message), undefined);
    watcher.watch(tracer, timeoutMs);
    const outcome = execution.applyMessage(message);
    watcher.rest();
    return { outcome, result: tracer.result(outcome) };
  }

  /** Prepares a block that is not in the database. @throws {CodedError} tx/*: a signature is wrong */
  traceable(block: Block): TraceableBlock {
    return { block, hash: hashHeader(block.header), senders: block.transactions.map((tx) => recoverSender(tx)) };
  }

  /** A tracer switch for the messages of a longer request. @param detail which instructions its tracers want */
  newSwitch(slot: ExecutionSlot, detail?: TraceDetail): TracerSwitch {
    return new TracerSwitch(this.#nowMs, slot, { detail });
  }

  /** Runs `action` with its own engine. @throws {RpcError} a limit was exceeded, or a reorg removed the block being executed */
  inSlot<T>(work: Work, action: (slot: ExecutionSlot) => Promise<T>): Promise<T> {
    return this.#slots.run(work, (slot) => this.#whileThere(() => action(slot)));
  }

  /** The same, on an engine that reads every code afresh. */
  inRecordingSlot<T>(work: Work, action: (slot: ExecutionSlot) => Promise<T>): Promise<T> {
    return this.#recordingSlots.run(work, (slot) => this.#whileThere(() => action(slot)));
  }

  async #whileThere<T>(action: () => Promise<T>): Promise<T> {
    try {
      return await action();
    } catch (error) {
      // A reorganisation happened in between.
      if (isCodedError(error, "storage/state-gone")) throw rpcErrorOf(this.#backend.profile.errors.stateUnavailable(LATEST));
      throw error;
    }
  }

  /** A block on its parent's state, with its system calls already executed. @throws {RpcError} */
  beginBlock(slot: ExecutionSlot, { block }: Pick<TraceableBlock, "block">, watcher?: TracerSwitch): BlockRun {
    slot.engine.setTracer(watcher);
    const { state } = requireState(this.#backend, parentSelector(block.header));
    return this.beginBlockOn(slot, block.header, state.forNextBlock?.() ?? state, refundsOf(block));
  }

  /** The same, with all of the parent's state read through `reader`. @throws {RpcError} */
  beginBlockOn(slot: ExecutionSlot, header: UnsealedHeader, reader: StateReader, gasRefunds: GasRefunds | undefined): BlockRun {
    return new BlockRun({
      engine: slot.engine,
      config: this.#backend.chain.config,
      rules: rulesAt(this.#backend, header),
      parent: requireHeader(this.#backend, parentSelector(header)).header,
      header,
      reader,
      create2DeployerCode: this.#create2DeployerCode,
      gasRefunds,
    });
  }

  /** Executes the first transactions of a block without tracing. @param count default: all. @throws {RpcError} */
  async replay(slot: ExecutionSlot, stored: TraceableBlock, count = stored.block.transactions.length): Promise<BlockRun> {
    const run = this.beginBlock(slot, stored);
    await this.applyAll(slot, run, stored, 0, count);
    return run;
  }

  /** Executes the transactions of a block from index `from` up to, but not including, `to`. */
  async applyAll(slot: ExecutionSlot, run: BlockRun, { block, senders }: TraceableBlock, from: number, to: number): Promise<void> {
    for (let index = from; index < to; index++) {
      await slot.pause();
      const tx = block.transactions[index]!;
      const applied = run.apply(tx, senders[index]!, encodeTransaction(tx));
      if (applied.kind === "rejected")
        throw new Error(`transaction ${index} of block ${block.header.number} is rejected when run again: ${applied.reason}`);
    }
  }
}

/** Blocks that are traced may be invalid: `debug_traceBlock` takes any. */
export function refundsOf({ header, transactions }: Block): GasRefunds | undefined {
  const read = readGasRefunds(header, transactions);
  return read.kind === "read" ? read.refunds : undefined;
}

const parentSelector = ({ parentHash }: Pick<Header, "parentHash">): BlockSelector => ({
  kind: "hash",
  hash: parentHash,
  requireCanonical: false,
});

function start(tracer: TransactionTracer, execution: BlockExecution, message: TracedMessage, place: TracePlace | undefined): void {
  const { rules, environment } = execution;
  tracer.onStart?.({ message, rules, beneficiary: environment.beneficiary, state: execution, place });
}

function tracedTransaction(tx: Transaction, from: Uint8Array): TracedMessage {
  const { gasLimit, value, data } = tx;
  const to = tx.type === 0x7d ? ZERO_ADDRESS : tx.to; // shown as a call that does nothing
  const delegations = tx.type === 0x04 ? delegationsOf(tx.authorizationList) : [];
  return { from, to, gasLimit, value, input: data, delegations, isDeposit: tx.type === 0x7e, isPostExec: tx.type === 0x7d };
}

const tracedCall = ({ from, to, gasLimit, value, data, authorizationList }: CallMessage): TracedMessage => ({
  from,
  to,
  gasLimit,
  value,
  input: data,
  delegations: delegationsOf(authorizationList ?? []),
  isDeposit: false,
  isPostExec: false,
});

function delegationsOf(list: NonNullable<CallMessage["authorizationList"]>): TracedMessage["delegations"] {
  return list.flatMap((authorization) => {
    const authority = recoverAuthority(authorization);
    return authority === undefined ? [] : [{ authority, target: authorization.address }];
  });
}
