import type { EvmTracer, HaltReason, MessageKind, TraceMessage, TraceResult } from "@rnode/evm";
import type { TraceContext, TracedMessage, TraceOutcome } from "./transaction-tracer.ts";

interface FrameLog {
  readonly address: Uint8Array;
  readonly topics: readonly Uint8Array[];
  readonly data: Uint8Array;
  /** number of inner frames before it */
  readonly position: number;
  /** index among all logs emitted in the transaction, including those that were undone */
  readonly index: number;
}

/** A message and the messages it called, copied from the engine. */
export interface Frame {
  readonly kind: MessageKind | "selfdestruct";
  readonly from: Uint8Array;
  /** the account whose code runs, or the beneficiary of a selfdestruct; undefined for a creation that failed before it had an address */
  readonly to: Uint8Array | undefined;
  readonly gas: bigint;
  readonly gasUsed: bigint;
  readonly value: bigint;
  readonly input: Uint8Array;
  readonly output: Uint8Array;
  readonly halt: HaltReason | undefined;
  /** for a frame that failed: the last instruction that the transaction had executed by then */
  readonly lastStep: { readonly opcode: number; readonly stackSize: number } | undefined;
  readonly calls: readonly Frame[];
  readonly logs: readonly FrameLog[];
}

interface OpenFrame extends Frame {
  gasUsed: bigint;
  output: Uint8Array;
  halt: HaltReason | undefined;
  lastStep: { opcode: number; stackSize: number } | undefined;
  readonly calls: Frame[];
  readonly logs: FrameLog[];
}

const NO_BYTES = new Uint8Array(0);
/** size of a frame or log without its data, as JSON */
const FRAME_BYTES = 300;

/** Builds the tree of a transaction's messages. */
export class FrameRecorder implements EvmTracer {
  readonly #open: OpenFrame[] = [];
  #root: Frame | undefined;
  #message: TracedMessage | undefined;
  #logCount = 0;
  #heldBytes = 0;
  /** undefined if logs are not wanted, so that the engine's host does not even describe them */
  readonly onLog: EvmTracer["onLog"];

  constructor({ keepsLogs = false }: { readonly keepsLogs?: boolean } = {}) {
    if (keepsLogs) this.onLog = (address, topics, data) => this.#keepLog(address, topics, data);
  }

  /** Approximate size of all frames as JSON, bytes. */
  heldBytes(): number {
    return this.#heldBytes;
  }

  onStart({ message }: TraceContext): void {
    this.#message = message;
  }

  onEnter({ kind, from, to, codeAddress, gas, value, input }: TraceMessage): void {
    // For delegatecall and callcode, which run foreign code on the caller's storage, `to` shows the account that has the code.
    const target = kind === "delegatecall" || kind === "callcode" ? codeAddress : to;
    this.#heldBytes += FRAME_BYTES + 2 * input.length;
    this.#open.push({
      kind,
      from: from.slice(),
      to: target?.slice(),
      gas,
      gasUsed: 0n,
      value,
      input: input.slice(),
      output: NO_BYTES,
      halt: undefined,
      lastStep: undefined,
      calls: [],
      logs: [],
    });
  }

  onExit({ halt, gasLeft, output, lastStep }: TraceResult): void {
    const frame = this.#open.pop();
    if (frame === undefined) return;
    frame.gasUsed = frame.gas - gasLeft;
    frame.halt = halt;
    if (halt !== undefined && halt !== "revert") frame.lastStep = lastStep();
    if (halt === undefined || halt === "revert") {
      frame.output = output.slice();
      this.#heldBytes += 2 * output.length;
    }
    const parent = this.#open.at(-1);
    if (parent === undefined) this.#root = frame;
    else parent.calls.push(frame);
  }

  onSelfDestruct(self: Uint8Array, beneficiary: Uint8Array, balance: bigint): void {
    this.#open.at(-1)?.calls.push({
      kind: "selfdestruct",
      from: self.slice(),
      to: beneficiary.slice(),
      gas: 0n,
      gasUsed: 0n,
      value: balance,
      input: NO_BYTES,
      output: NO_BYTES,
      halt: undefined,
      lastStep: undefined,
      calls: [],
      logs: [],
    });
  }

  #keepLog(address: Uint8Array, topics: readonly Uint8Array[], data: Uint8Array): void {
    const frame = this.#open.at(-1);
    const index = this.#logCount++;
    this.#heldBytes += FRAME_BYTES + 2 * data.length;
    frame?.logs.push({
      address: address.slice(),
      topics: topics.map((topic) => topic.slice()),
      data: data.slice(),
      position: frame.calls.length,
      index,
    });
  }

  /** The transaction's own message, with gas as the engine ran it, that is, without the intrinsic part. */
  root(outcome: TraceOutcome): Frame {
    if (this.#root !== undefined) return this.#root;
    // Nothing ran: a deposit failed before its message began, or a call had too little gas for its data.
    const { from, to, gasLimit, value, input } = this.#message!;
    return {
      kind: to === undefined ? "create" : "call",
      from,
      to: to ?? outcome.createdAddress,
      gas: gasLimit,
      gasUsed: outcome.gasUsed,
      value,
      input,
      output: outcome.output,
      halt: outcome.halt,
      lastStep: undefined,
      calls: [],
      logs: [],
    };
  }

  /** of the transaction or call */
  get gasLimit(): bigint {
    return this.#message!.gasLimit;
  }

  /** The same with the transaction's gas limit and the gas used from the receipt, as Geth shows it. */
  transactionFrame(outcome: TraceOutcome): Frame {
    const root = this.root(outcome);
    return { ...root, gas: this.#message!.gasLimit, gasUsed: outcome.gasUsed, halt: outcome.halt ?? root.halt };
  }
}
