import type { Hex } from "@rnode/primitives";
import type { Transaction } from "@rnode/protocol";
import type { L1Access as SenderL1Access } from "@rnode/tx-manager";

/** The part of the L1 API that the batcher uses; `L1AccountClient` implements it. Every method rejects if there is no answer. */
export interface L1Access extends SenderL1Access {
  /** the nonce after a block; undefined: L1 has pruned the state of that block */
  nonceAt(address: Uint8Array, blockNumber: number): Promise<bigint | undefined>;
  /** an account after a canonical block, with the block's timestamp; undefined: L1 lacks the state or the block */
  accountAfter(
    address: Uint8Array,
    blockNumber: number,
  ): Promise<{ readonly balanceWei: bigint; readonly timestampSec: number } | undefined>;
  /** hash of a canonical block; undefined: L1 does not have the block yet */
  blockHash(number: number): Promise<Hex | undefined>;
  /** transactions of a canonical block; undefined: L1 does not have the block */
  transactionsAt(number: number): Promise<readonly Transaction[] | undefined>;
}
