import { bytesToHex, equalBytes, type Hex } from "@rnode/primitives";
import { hashTransaction, isSigned, recoverSender, type Transaction } from "@rnode/protocol";
import type { L1Access } from "./l1-access.ts";

/** The transaction that used a nonce, and where. */
export interface NonceTaker {
  readonly transaction: Transaction;
  readonly hash: Hex;
  readonly l1Block: number;
}

/** @returns undefined: the nonce is unused, or L1 lacks the states or blocks in which its transaction could be found */
export async function nonceTaker(
  l1: Pick<L1Access, "head" | "nonceAt" | "transactionsAt">,
  address: Uint8Array,
  nonce: bigint,
): Promise<NonceTaker | undefined> {
  const isUsedAt = async (block: number): Promise<boolean | undefined> => {
    const next = await l1.nonceAt(address, block);
    return next === undefined ? undefined : next > nonce;
  };
  let last = (await l1.head()).number;
  if ((await isUsedAt(last)) !== true) return undefined;
  // Backwards in growing steps, as it was used not long ago, then by halves.
  let first = last;
  for (let step = 1; ; step *= 2) {
    first = Math.max(0, last - step);
    const isUsed = await isUsedAt(first);
    if (isUsed === undefined) return undefined;
    if (!isUsed || first === 0) break;
    last = first;
  }
  while (last - first > 1) {
    const middle = Math.floor((first + last) / 2);
    const isUsed = await isUsedAt(middle);
    if (isUsed === undefined) return undefined;
    if (isUsed) last = middle;
    else first = middle;
  }
  const transactions = (await l1.transactionsAt(last)) ?? [];
  const transaction = transactions.find((tx) => isSigned(tx) && tx.nonce === nonce && equalBytes(recoverSender(tx), address));
  return transaction && { transaction, hash: bytesToHex(hashTransaction(transaction)), l1Block: last };
}
