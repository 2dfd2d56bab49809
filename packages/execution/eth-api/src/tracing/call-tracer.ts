import type { EvmTracer, TraceMessage } from "@rnode/evm";
import { bytesToHex, toQuantity } from "@rnode/primitives";
import { revertReason } from "../calls/revert-reason.ts";
import type { JsonObject } from "../json/transaction-json.ts";
import type { TraceDialect } from "../profile/trace-dialect.ts";
import { type Frame, FrameRecorder } from "./frames.ts";
import type { TraceOutcome, TransactionTracer } from "./transaction-tracer.ts";

export interface CallTracerConfig {
  /** leave out inner calls */
  readonly onlyTopCall: boolean;
  /** add the logs of each frame; logs of failed frames, and of frames inside them, are dropped */
  readonly withLog: boolean;
  /** runs as a part of `muxTracer` */
  readonly isPart: boolean;
}

/** Geth's `callTracer`: one nested object per transaction. */
export class CallTracer extends FrameRecorder implements TransactionTracer {
  readonly #config: CallTracerConfig;
  readonly #dialect: TraceDialect;

  constructor(config: CallTracerConfig, dialect: TraceDialect) {
    super({ keepsLogs: config.withLog });
    this.#config = config;
    this.#dialect = dialect;
  }

  result(outcome: TraceOutcome): JsonObject {
    const frame = this.transactionFrame(outcome);
    const isRaw = this.#config.isPart && this.#dialect.partsHaveRawGas;
    return this.#shown(isRaw ? { ...frame, gas: this.root(outcome).gas } : frame, false);
  }

  #shown(frame: Frame, isUndone: boolean): JsonObject {
    const { kind, from, to, gas, gasUsed, value, input, output, halt, calls, logs } = frame;
    const hasFailed = halt !== undefined;
    const isCreation = kind === "create" || kind === "create2";
    const reason = halt === "revert" ? revertReason(output) : undefined;
    const { onlyTopCall, withLog } = this.#config;
    const shownLogs = withLog && !isUndone && !hasFailed ? logs : [];
    return {
      from: bytesToHex(from),
      gas: toQuantity(gas),
      gasUsed: toQuantity(gasUsed),
      ...(to !== undefined && !(isCreation && hasFailed) && { to: bytesToHex(to) }),
      input: bytesToHex(input),
      ...(output.length > 0 && { output: bytesToHex(output) }),
      ...(halt !== undefined && { error: this.#dialect.frameError(halt, frame.lastStep) }),
      ...(reason !== undefined && { revertReason: reason }),
      ...(!onlyTopCall && calls.length > 0 && { calls: calls.map((call) => this.#shown(call, isUndone || hasFailed)) }),
      ...(shownLogs.length > 0 && {
        logs: shownLogs.map(({ address, topics, data, position, index }) => ({
          address: bytesToHex(address),
          topics: topics.map(bytesToHex),
          data: bytesToHex(data),
          position: toQuantity(onlyTopCall ? 0 : position),
          index: toQuantity(index),
        })),
      }),
      ...(kind !== "staticcall" && { value: toQuantity(value) }),
      type: kind.toUpperCase(),
    };
  }
}

/** Geth's `4byteTracer`: how often each selector was called, keyed by `0x<selector>-<bytes of arguments>`. */
export class FourByteTracer implements TransactionTracer, EvmTracer {
  readonly #counts = new Map<string, number>();
  readonly #isPrecompile: (address: Uint8Array) => boolean;

  constructor(isPrecompile: (address: Uint8Array) => boolean) {
    this.#isPrecompile = isPrecompile;
  }

  onEnter({ kind, codeAddress, input }: TraceMessage): void {
    if (input.length < 4 || kind === "create" || kind === "create2") return;
    if (codeAddress !== undefined && this.#isPrecompile(codeAddress)) return;
    const key = `${bytesToHex(input.subarray(0, 4))}-${input.length - 4}`;
    this.#counts.set(key, (this.#counts.get(key) ?? 0) + 1);
  }

  result(): JsonObject {
    return Object.fromEntries(this.#counts);
  }
}
