import type { EvmTracer, TraceDetail } from "@rnode/evm";
import { LIMIT_EXCEEDED, RpcError, SERVER_ERROR } from "@rnode/jsonrpc";
import type { ExecutionSlot } from "./execution-slots.ts";
import type { TransactionTracer } from "./transaction-tracer.ts";

/** events between two checks of time and memory */
const EVENTS_PER_CHECK = 1024;

/**
 * Forwards the engine's hooks to a tracer that can change between the transactions of a block, and aborts executions that take too long
 * or whose results grow too large.
 */
export class TracerSwitch implements EvmTracer {
  readonly detail: TraceDetail;
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

  /**
   * @param request its time limit applies, and it counts the bytes that the results hold
   * @param detail which instructions the tracers want
   */
  constructor(
    nowMs: () => number,
    request: Pick<ExecutionSlot, "maxBytes" | "keptBytes" | "check">,
    { detail = "steps" }: { readonly detail?: TraceDetail | undefined } = {},
  ) {
    this.detail = detail;
    this.#nowMs = nowMs;
    this.#request = request;
    this.onTick = this.#unwatchedTick();
  }

  /** PERF: hooks that the tracer lacks stay undefined, so that the engine's host does not even describe those events. */
  watch(target: TransactionTracer, timeoutMs: number): void {
    if (this.detail === "messages" && target.onStep !== undefined)
      throw new Error("the tracer wants steps, which this block does not report");
    this.#target = target;
    this.#endMs = this.#nowMs() + timeoutMs;
    this.#events = 0;
    this.onTick = this.detail === "steps" ? () => this.#count() : () => this.#check();
    this.onStep =
      target.onStep === undefined
        ? undefined
        : (step) => {
            this.#count();
            target.onStep!(step);
          };
    this.onEnter = (message) => {
      this.#count();
      // One message may carry megabytes, so the size is checked immediately for a tracer that keeps inputs.
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

  /** Stops tracing: the next transaction is executed untraced. @throws {RpcError} the results hold too much */
  rest(): void {
    this.#checkHeld(0);
    this.#request.keptBytes += this.#target?.heldBytes?.() ?? 0;
    this.#target = undefined;
    this.onTick = this.#unwatchedTick();
    this.onStep = undefined;
    this.onEnter = undefined;
    this.onExit = undefined;
    this.onSelfDestruct = undefined;
    this.onLog = undefined;
  }

  /** @throws {RpcError} the time is over, or the results hold too much; this ends the execution */
  #count(): void {
    if (this.#events++ % EVENTS_PER_CHECK === 0) this.#check();
  }

  #check(): void {
    if (this.#nowMs() > this.#endMs) throw new RpcError(SERVER_ERROR, "execution timeout");
    this.#request.check();
    this.#checkHeld(0);
  }

  /** The engine does not check the clock itself while it reports steps. */
  #unwatchedTick(): EvmTracer["onTick"] {
    if (this.detail !== "steps") return undefined;
    return () => {
      if (this.#events++ % EVENTS_PER_CHECK === 0) this.#request.check();
    };
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
