import type { L1Inclusion } from "@rnode/l1";
import type { Hex } from "@rnode/primitives";

/** Fees of an L1 transaction, wei per gas. */
export interface TxFees {
  readonly tip: bigint;
  readonly feeCap: bigint;
  /** wei per blob gas; `undefined` without blobs */
  readonly blobFeeCap?: bigint | undefined;
}

export interface FeePolicy {
  readonly minTipWei: bigint;
  readonly minBaseFeeWei: bigint;
  /** nothing is sent while L1 suggests a higher tip; 0: no limit */
  readonly maxTipWei?: bigint;
  /** nothing is sent while L1's base fee is higher; 0: no limit */
  readonly maxBaseFeeWei?: bigint;
  /** maximum cost of a replacement as a multiple of a new transaction's cost */
  readonly feeLimitMultiplier: number;
  /** below this fee cap the multiplier does not apply */
  readonly feeLimitThresholdWei: bigint;
}

export interface TransactionManagerOptions extends FeePolicy {
  /** a transaction counts as included once this many blocks, including its own, contain it */
  readonly confirmations: number;
  readonly resubmissionTimeoutMs: number;
  readonly receiptQueryIntervalMs: number;
  /** 0: none */
  readonly sendTimeoutMs: number;
  readonly notInMempoolTimeoutMs: number;
  /** this many consecutive signs that the nonce was used by someone else, or can never be reached, end the attempt */
  readonly safeAbortNonceTooLowCount: number;
  /** parts of error texts that mean that the endpoint has the transaction already */
  readonly alreadyPublishedErrors?: readonly string[];
  /** seconds; `undefined`: known from the L1 chain, or found by trial */
  readonly cellProofTimeSec?: number | undefined;
}

/** The outcome of a transaction. */
export type SendOutcome =
  | {
      readonly kind: "confirmed";
      readonly inclusion: L1Inclusion;
      readonly hash: Hex;
      readonly nonce: bigint;
      readonly feeCapWei: bigint;
    }
  /**
   * The transaction was abandoned, and its nonce is free. The next transaction uses the nonce and so replaces this one, if it is
   * still in a pool (`isPublished`) and not included by then.
   */
  | { readonly kind: "failed"; readonly reason: "send-timeout" | "not-in-mempool" | "nonce-gap"; readonly isPublished: boolean }
  /** another transaction used the nonce: one of a previous process, or of another holder of the key */
  | { readonly kind: "nonce-consumed"; readonly nonce: bigint }
  /** sending was cancelled; the transaction may still be included */
  | { readonly kind: "cancelled" };
