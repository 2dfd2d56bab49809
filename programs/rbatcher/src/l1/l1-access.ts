import type { Hex } from "@rnode/primitives";
import type { Transaction } from "@rnode/protocol";
import type { L1Access as SenderL1Access } from "@rnode/tx-manager";

/** What the batcher needs of L1; `L1AccountClient` implements it. Every method rejects if there is no answer. */
export interface L1Access extends SenderL1Access {
  /** the nonce after a block; undefined: L1 does not have the state of that block any more */
  nonceAt(address: Uint8Array, blockNumber: number): Promise<bigint | undefined>;
  /** an account after a canonical block, with the time of the block; undefined: L1 does not have its state, or not the block */
  accountAfter(
    address: Uint8Array,
    blockNumber: number,
  ): Promise<{ readonly balanceWei: bigint; readonly timestampSec: number } | undefined>;
  /** of a canonical block; undefined: L1 does not have it yet */
  blockHash(number: number): Promise<Hex | undefined>;
  /** of a canonical block; undefined: L1 does not have it */
  transactionsAt(number: number): Promise<readonly Transaction[] | undefined>;
}
