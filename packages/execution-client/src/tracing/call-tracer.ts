import type { EvmTracer, HaltReason, MessageKind, TraceMessage, TraceResult } from "@rnode/evm";
import { bytesToHex, toQuantity } from "@rnode/primitives";
import type { JsonObject } from "../json/transaction-json.ts";
import { HALT_TEXTS } from "../profile/halt-texts.ts";
import { revertReason } from "../rpc/revert-reason.ts";

export interface CallTracerConfig {
  /** leaves out inner calls */
  readonly onlyTopCall: boolean;
  /** adds each frame's logs; those of frames that failed are dropped */
  readonly withLog: boolean;
}

/** What the transaction's own frame shows, which the engine does not know: gas with the intrinsic part. */
export interface TopCall {
  readonly from: Uint8Array;
  readonly to: Uint8Array | undefined;
  readonly gasLimit: bigint;
  readonly gasUsed: bigint;
  readonly value: bigint;
  readonly input: Uint8Array;
  readonly output: Uint8Array;
  readonly halt: HaltReason | undefined;
  readonly createdAddress: Uint8Array | undefined;
}

interface Frame {
  readonly fields: JsonObject;
  readonly gas: bigint;
  readonly calls: JsonObject[];
  readonly logs: JsonObject[];
}

const TYPES: Readonly<Record<MessageKind, string>> = {
  call: "CALL",
  callcode: "CALLCODE",
  delegatecall: "DELEGATECALL",
  staticcall: "STATICCALL",
  create: "CREATE",
  create2: "CREATE2",
};

/** Geth's `callTracer`: one nested object a transaction. */
export class CallTracer implements EvmTracer {
  readonly #config: CallTracerConfig;
  readonly #open: Frame[] = [];
  /** what is inside the transaction's own frame */
  #top: { calls: JsonObject[]; logs: JsonObject[] } = { calls: [], logs: [] };
  #logCount = 0;

  constructor(config: CallTracerConfig) {
    this.#config = config;
  }

  onEnter(message: TraceMessage): void {
    if (this.#config.onlyTopCall && message.depth > 0) return;
    const { kind, from, to, codeAddress, gas, value, input } = message;
    // Geth shows whose code runs; for calls that run foreign code on their own storage that is not the account.
    const target = kind === "delegatecall" || kind === "callcode" ? codeAddress : to;
    const fields: JsonObject = {
      from: bytesToHex(from),
      gas: toQuantity(gas),
      ...(target !== undefined && { to: bytesToHex(target) }),
      input: bytesToHex(input),
      ...(kind !== "staticcall" && { value: toQuantity(value) }),
      type: TYPES[kind],
    };
    this.#open.push({ fields, gas, calls: [], logs: [] });
  }

  onExit({ depth, halt, gasLeft, output }: TraceResult): void {
    if (this.#config.onlyTopCall && depth > 0) return;
    const frame = this.#open.pop();
    if (frame === undefined) return;
    const parent = this.#open.at(-1);
    if (parent === undefined) {
      this.#top = { calls: frame.calls, logs: halt === undefined ? frame.logs : [] };
      return;
    }
    parent.calls.push(finished(frame, toQuantity(frame.gas - gasLeft), halt, output));
  }

  onSelfDestruct(self: Uint8Array, beneficiary: Uint8Array, balance: bigint): void {
    if (this.#config.onlyTopCall) return;
    this.#open.at(-1)?.calls.push({
      from: bytesToHex(self),
      gas: "0x0",
      gasUsed: "0x0",
      to: bytesToHex(beneficiary),
      input: "0x",
      value: toQuantity(balance),
      type: "SELFDESTRUCT",
    });
  }

  onLog(address: Uint8Array, topics: readonly Uint8Array[], data: Uint8Array): void {
    const frame = this.#open.at(-1);
    const index = toQuantity(this.#logCount++);
    if (!this.#config.withLog || frame === undefined) return;
    frame.logs.push({
      address: bytesToHex(address),
      topics: topics.map(bytesToHex),
      data: bytesToHex(data),
      position: toQuantity(frame.calls.length),
      index,
    });
  }

  /** The frame of the whole transaction. */
  result(top: TopCall): JsonObject {
    const { calls, logs } = this.#top;
    const to = top.to ?? top.createdAddress;
    const fields: JsonObject = {
      from: bytesToHex(top.from),
      gas: toQuantity(top.gasLimit),
      ...(to !== undefined && { to: bytesToHex(to) }),
      input: bytesToHex(top.input),
      value: toQuantity(top.value),
      type: top.to === undefined ? "CREATE" : "CALL",
    };
    return finished({ fields, gas: top.gasLimit, calls, logs }, toQuantity(top.gasUsed), top.halt, top.output);
  }
}

function finished({ fields, calls, logs }: Frame, gasUsed: string, halt: HaltReason | undefined, output: Uint8Array): JsonObject {
  const { from, gas, ...rest } = fields;
  const reason = halt === "revert" ? revertReason(output) : undefined;
  const hasOutput = output.length > 0 && (halt === undefined || halt === "revert");
  return {
    from,
    gas,
    gasUsed,
    ...rest,
    ...(hasOutput && { output: bytesToHex(output) }),
    ...(halt !== undefined && { error: HALT_TEXTS[halt] }),
    ...(reason !== undefined && { revertReason: reason }),
    ...(calls.length > 0 && { calls }),
    ...(halt === undefined && logs.length > 0 && { logs }),
  };
}
