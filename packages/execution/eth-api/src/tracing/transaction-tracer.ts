import type { BlockExecution, EvmTracer, HaltReason } from "@rnode/evm";
import type { BlockRules } from "@rnode/protocol";

/** The state during a traced transaction. It may be read in `onStart`, `onStep` and `result`, but not in the other hooks. */
export type TraceState = Pick<BlockExecution, "getBalance" | "getNonce" | "getCode" | "getStorage">;

/** A transaction or call that is about to be traced. */
export interface TracedMessage {
  /** 20 bytes */
  readonly from: Uint8Array;
  readonly to: Uint8Array | undefined;
  readonly gasLimit: bigint;
  readonly value: bigint;
  readonly input: Uint8Array;
  /** EIP-7702: the authorities whose code the transaction may set, and the targets they delegate to */
  readonly delegations: readonly { readonly authority: Uint8Array; readonly target: Uint8Array }[];
  /** a deposit pays no fees */
  readonly isDeposit: boolean;
  /** a post-exec transaction runs nothing and touches no account */
  readonly isPostExec: boolean;
}

/** Where the transaction is; undefined for a call. */
export interface TracePlace {
  readonly blockHash: Uint8Array;
  readonly blockNumber: number;
  readonly transactionHash: Uint8Array;
  readonly transactionIndex: number;
}

export interface TraceContext {
  readonly message: TracedMessage;
  readonly rules: BlockRules;
  readonly beneficiary: Uint8Array;
  readonly state: TraceState;
  readonly place: TracePlace | undefined;
}

/** The outcome with gas as in the receipt: including the intrinsic gas, with refunds deducted. */
export interface TraceOutcome {
  readonly gasUsed: bigint;
  readonly output: Uint8Array;
  readonly halt: HaltReason | undefined;
  readonly createdAddress: Uint8Array | undefined;
}

/** Traces one transaction. */
export interface TransactionTracer extends EvmTracer {
  /** called before the transaction changes anything */
  onStart?(context: TraceContext): void;
  /** Approximate size of the result so far as JSON, bytes. A tracer that lacks this method holds little. */
  heldBytes?(): number;
  /** The result as plain JSON. Called while the transaction's effects are still in place. */
  result(outcome: TraceOutcome): unknown;
}
