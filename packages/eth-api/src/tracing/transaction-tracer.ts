import type { BlockExecution, EvmTracer, HaltReason } from "@rnode/evm";
import type { BlockRules } from "@rnode/protocol";

/** The state while a transaction is traced; may be read in `onStart`, `onStep` and `result`, not in other hooks. */
export type TraceState = Pick<BlockExecution, "getBalance" | "getNonce" | "getCode" | "getStorage">;

/** A transaction or call about to be traced. */
export interface TracedMessage {
  /** 20 bytes */
  readonly from: Uint8Array;
  readonly to: Uint8Array | undefined;
  readonly gasLimit: bigint;
  readonly value: bigint;
  readonly input: Uint8Array;
  /** EIP-7702: whose code the transaction may change, and to whose */
  readonly delegations: readonly { readonly authority: Uint8Array; readonly target: Uint8Array }[];
  /** a deposit pays no fees */
  readonly isDeposit: boolean;
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

/** What came of it: as in the receipt, the intrinsic gas included, refunds taken off. */
export interface TraceOutcome {
  readonly gasUsed: bigint;
  readonly output: Uint8Array;
  readonly halt: HaltReason | undefined;
  readonly createdAddress: Uint8Array | undefined;
}

/** Watches one transaction. */
export interface TransactionTracer extends EvmTracer {
  /** before the transaction changes anything */
  onStart?(context: TraceContext): void;
  /** About as many bytes as its result has as JSON, so far; a tracer without it holds little. */
  heldBytes?(): number;
  /** Plain JSON; the transaction's effects stand. */
  result(outcome: TraceOutcome): unknown;
}
