import type { L1FeeMarket, L1Inclusion, SendVerdict } from "@rnode/l1";
import type { Hex } from "@rnode/primitives";
import type { L1BlockRef } from "@rnode/protocol";

/** What the batcher needs of L1; `L1AccountClient` implements it. Every method rejects if there is no answer. */
export interface L1Access {
  head(): Promise<L1BlockRef>;
  /** number of transactions of an account, without ("latest") or with ("pending") those in the pool */
  nonce(address: Uint8Array, block: "latest" | "pending"): Promise<bigint>;
  /** the nonce after a block; undefined: L1 does not have the state of that block any more */
  nonceAt(address: Uint8Array, blockNumber: number): Promise<bigint | undefined>;
  balance(address: Uint8Array): Promise<bigint>;
  feeMarket(asked: { readonly withBlobs: boolean }): Promise<L1FeeMarket>;
  /** Sends a transaction. A refusal of the transaction itself is a verdict, not a rejection. */
  send(rawTransaction: Uint8Array): Promise<{ readonly verdict: SendVerdict; readonly message: string }>;
  /** undefined: not in the canonical chain */
  inclusion(transactionHash: Hex): Promise<L1Inclusion | undefined>;
}
