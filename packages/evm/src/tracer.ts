import type { MessageKind } from "./engine/layout.ts";
import type { HaltReason } from "./execution.ts";

/**
 * Hooks of a trace. The engine decodes code differently while a tracer is set (each instruction reports itself), so that nothing is paid
 * when there is none. Arguments are views of the engine's memory, valid only during the call. In `onStep` the state may be read through the
 * block's execution, after which views are not valid any more; what a hook throws ends the execution, and the block with it.
 */
export interface EvmTracer {
  /** before an instruction; it may still fail for lack of gas or stack */
  onStep?: ((step: TraceStep) => void) | undefined;
  /** before every instruction, without a description of it: for looking at the clock */
  onTick?: (() => void) | undefined;
  /** a call or creation begins; also those that end at once (precompiles, accounts without code, too little balance) */
  onEnter?: ((message: TraceMessage) => void) | undefined;
  /** the innermost open message ended */
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
  /** 20 bytes: the account executed on */
  readonly address: Uint8Array;
  /** word `fromTop`, 0 is the top, as a number */
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
  /** 20 bytes: whose storage and balance; undefined for a creation that failed before its address was used */
  readonly to: Uint8Array | undefined;
  /** 20 bytes: whose code, before delegation */
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
  /** the last instruction of the transaction so far: when an instruction is why the message failed, that one */
  readonly lastStep: () => { readonly opcode: number; readonly stackSize: number };
}
