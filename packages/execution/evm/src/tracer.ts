import type { MessageKind } from "./engine/layout.ts";
import type { HaltReason } from "./execution.ts";

/**
 * The reported instructions, from the cheapest level: none; instructions that name an account or a slot (SLOAD, SSTORE, BALANCE,
 * EXTCODE…, calls, creations, SELFDESTRUCT); all. Code without reported instructions runs as fast as without a tracer.
 */
export type TraceDetail = "messages" | "touches" | "steps";

/**
 * The hooks of a trace. For a tracer of instructions, the engine decodes code differently (each instruction reports itself), so
 * tracing costs nothing when it is off. Arguments are views of the engine's memory, valid only during the call. `onStep` may read
 * the state through the block's execution, which invalidates the views. If a hook throws, the execution and its block end.
 */
export interface EvmTracer {
  /** default: all steps. Read when a block begins. */
  readonly detail?: TraceDetail | undefined;
  /** before an instruction, which may still fail for lack of gas or stack */
  onStep?: ((step: TraceStep) => void) | undefined;
  /** for checking a time limit: before every instruction if all are reported, otherwise every few milliseconds */
  onTick?: (() => void) | undefined;
  /** a call or creation begins, including those that end at once (precompiles, accounts without code, insufficient balance) */
  onEnter?: ((message: TraceMessage) => void) | undefined;
  /** the innermost open message has ended */
  onExit?: ((result: TraceResult) => void) | undefined;
  onSelfDestruct?: ((self: Uint8Array, beneficiary: Uint8Array, balance: bigint) => void) | undefined;
  onLog?: ((address: Uint8Array, topics: readonly Uint8Array[], data: Uint8Array) => void) | undefined;
}

export interface TraceStep {
  readonly pc: number;
  readonly opcode: number;
  /** before the instruction */
  readonly gas: bigint;
  /** 0 for the transaction's own message */
  readonly depth: number;
  readonly stackSize: number;
  /** 20 bytes: the account on whose state the code runs */
  readonly address: Uint8Array;
  /** the word `fromTop` below the top of the stack, as a number; 0 is the top */
  readonly stack: (fromTop: number) => bigint;
  readonly memorySize: number;
  /** a view */
  readonly memory: () => Uint8Array;
  /** output of the last call of this frame */
  readonly returnData: () => Uint8Array;
  /** refund counter of the transaction, before the instruction */
  readonly refund: () => bigint;
}

export interface TraceMessage {
  readonly kind: MessageKind;
  readonly depth: number;
  /** 20 bytes */
  readonly from: Uint8Array;
  /** 20 bytes: the account whose storage and balance are used; undefined for a creation that failed before its address was used */
  readonly to: Uint8Array | undefined;
  /** 20 bytes: the account whose code runs, before delegation */
  readonly codeAddress: Uint8Array | undefined;
  readonly gas: bigint;
  readonly value: bigint;
  readonly input: Uint8Array;
  readonly isStatic: boolean;
}

export interface TraceResult {
  readonly depth: number;
  readonly halt: HaltReason | undefined;
  readonly gasLeft: bigint;
  readonly output: Uint8Array;
  /**
   * The last instruction of the transaction so far, or the failing one if an instruction made the message fail. Unless all
   * instructions are reported, it is known only for a reported instruction, an undefined opcode, or a stack underflow or
   * overflow.
   */
  readonly lastStep: () => FaultyStep | undefined;
}

export interface FaultyStep {
  readonly opcode: number;
  /** words on the stack before it */
  readonly stackSize: number;
}
