import type { EvmTracer } from "@rnode/evm";
import { RpcError, SERVER_ERROR } from "@rnode/jsonrpc";
import type { TransactionTracer } from "./transaction-tracer.ts";

/** events between two looks at the clock */
const EVENTS_PER_CHECK = 1024;

/** Hands the hooks to a tracer that is changed between the transactions of a block, and ends what takes too long. */
export class TracerSwitch implements EvmTracer {
  onTick: EvmTracer["onTick"];
  onStep: EvmTracer["onStep"];
  onEnter: EvmTracer["onEnter"];
  onExit: EvmTracer["onExit"];
  onSelfDestruct: EvmTracer["onSelfDestruct"];
  onLog: EvmTracer["onLog"];
  readonly #nowMs: () => number;
  #endMs = Number.POSITIVE_INFINITY;
  #events = 0;

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  /** PERF: hooks that nobody wants stay undefined, so that the engine's host does not even describe the event. */
  watch(target: TransactionTracer, timeoutMs: number): void {
    this.#endMs = this.#nowMs() + timeoutMs;
    this.#events = 0;
    this.onTick = () => this.#count();
    this.onStep = target.onStep === undefined ? undefined : (step) => target.onStep!(step);
    this.onEnter = (message) => {
      this.#count();
      target.onEnter?.(message);
    };
    this.onExit = target.onExit === undefined ? undefined : (result) => target.onExit!(result);
    this.onSelfDestruct =
      target.onSelfDestruct === undefined
        ? undefined
        : (self, beneficiary, balance) => target.onSelfDestruct!(self, beneficiary, balance);
    this.onLog = target.onLog === undefined ? undefined : (address, topics, data) => target.onLog!(address, topics, data);
  }

  /** The next transaction is executed without being watched. */
  rest(): void {
    this.onTick = undefined;
    this.onStep = undefined;
    this.onEnter = undefined;
    this.onExit = undefined;
    this.onSelfDestruct = undefined;
    this.onLog = undefined;
  }

  /** @throws {RpcError} the time is over: ends the execution */
  #count(): void {
    if (this.#events++ % EVENTS_PER_CHECK === 0 && this.#nowMs() > this.#endMs)
      throw new RpcError(SERVER_ERROR, "execution timeout");
  }
}
