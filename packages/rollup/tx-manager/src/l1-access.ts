import type { L1Call, L1FeeMarket, L1Inclusion, SendVerdict } from "@rnode/l1";
import type { Hex } from "@rnode/primitives";
import type { L1BlockRef } from "@rnode/protocol";

/**
 * The used part of L1 for a sender of transactions, which `L1AccountClient` implements. Every method rejects without an answer.
 */
export interface L1Access {
  head(): Promise<L1BlockRef>;
  /** number of transactions of an account, without ("latest") or with ("pending") the transactions in the pool */
  nonce(address: Uint8Array, block: "latest" | "pending"): Promise<bigint>;
  balance(address: Uint8Array): Promise<bigint>;
  feeMarket(asked: { readonly withBlobs: boolean }): Promise<L1FeeMarket>;
  /** the gas that a call takes at the newest block */
  estimateGas(call: L1Call): Promise<bigint>;
  /** Sends a transaction. A refusal of the transaction itself is a verdict, not a rejection. */
  send(rawTransaction: Uint8Array): Promise<{ readonly verdict: SendVerdict; readonly message: string }>;
  /** `undefined`: not in the canonical chain */
  inclusion(transactionHash: Hex): Promise<L1Inclusion | undefined>;
}
