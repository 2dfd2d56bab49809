import type { EvmTracer } from "@rnode/evm";
import { RpcError, SERVER_ERROR } from "@rnode/jsonrpc";
import { type ExecutionSlot, LIMIT_EXCEEDED } from "./execution-slots.ts";
import type { TransactionTracer } from "./transaction-tracer.ts";

/** events between two looks at the clock and the memory */
const EVENTS_PER_CHECK = 1024;

/** Hands the hooks to a tracer that is changed between the transactions of a block, and ends what takes too long or holds too much. */
export class TracerSwitch implements EvmTracer {
  onTick: EvmTracer["onTick"];
  onStep: EvmTracer["onStep"];
  onEnter: EvmTracer["onEnter"];
  onExit: EvmTracer["onExit"];
  onSelfDestruct: EvmTracer["onSelfDestruct"];
  onLog: EvmTracer["onLog"];
  readonly #nowMs: () => number;
  readonly #request: Pick<ExecutionSlot, "maxBytes" | "keptBytes" | "check">;
  #endMs = Number.POSITIVE_INFINITY;
  #events = 0;
  #target: TransactionTracer | undefined;

  /** @param request whose time runs, and which counts what the results hold */
  constructor(nowMs: () => number, request: Pick<ExecutionSlot, "maxBytes" | "keptBytes" | "check">) {
    this.#nowMs = nowMs;
    this.#request = request;
    this.onTick = () => this.#countUnwatched();
  }

  /** PERF: hooks that nobody wants stay undefined, so that the engine's host does not even describe the event. */
  watch(target: TransactionTracer, timeoutMs: number): void {
    this.#target = target;
    this.#endMs = this.#nowMs() + timeoutMs;
    this.#events = 0;
    this.onTick = () => this.#count();
    this.onStep =
      target.onStep === undefined
        ? undefined
        : (step) => {
            this.#count();
            target.onStep!(step);
          };
    this.onEnter = (message) => {
      this.#count();
      // One message may carry megabytes: those of a tracer that keeps them are looked at at once.
      if (message.input.length > 4096) this.#checkHeld(message.input.length);
      target.onEnter?.(message);
    };
    this.onExit = target.onExit === undefined ? undefined : (result) => target.onExit!(result);
    this.onSelfDestruct =
      target.onSelfDestruct === undefined
        ? undefined
        : (self, beneficiary, balance) => target.onSelfDestruct!(self, beneficiary, balance);
    this.onLog = target.onLog === undefined ? undefined : (address, topics, data) => target.onLog!(address, topics, data);
  }

  /** The next transaction is executed without being watched. @throws {RpcError} the results hold too much */
  rest(): void {
    this.#checkHeld(0);
    this.#request.keptBytes += this.#target?.heldBytes?.() ?? 0;
    this.#target = undefined;
    this.onTick = () => this.#countUnwatched();
    this.onStep = undefined;
    this.onEnter = undefined;
    this.onExit = undefined;
    this.onSelfDestruct = undefined;
    this.onLog = undefined;
  }

  /** @throws {RpcError} the time is over, or too much is held: ends the execution */
  #count(): void {
    if (this.#events++ % EVENTS_PER_CHECK !== 0) return;
    if (this.#nowMs() > this.#endMs) throw new RpcError(SERVER_ERROR, "execution timeout");
    this.#request.check();
    this.#checkHeld(0);
  }

  /** While it has a tracer, the engine does not look at the clock itself. */
  #countUnwatched(): void {
    if (this.#events++ % EVENTS_PER_CHECK === 0) this.#request.check();
  }

  #checkHeld(more: number): void {
    const { maxBytes, keptBytes } = this.#request;
    const own = this.#target?.heldBytes?.();
    if (own !== undefined && keptBytes + own + more > maxBytes) {
      throw new RpcError(
        LIMIT_EXCEEDED,
        `the trace is larger than ${maxBytes} bytes (--rpc.max-response-size): trace one transaction, or leave out memory, stack or storage`,
      );
    }
  }
}
