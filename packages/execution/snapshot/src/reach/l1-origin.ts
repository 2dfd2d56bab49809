import { isCodedError } from "@rnode/primitives";
import { encodeTransaction, type L1BlockInfo, l1InfoOfPayload, type Transaction } from "@rnode/protocol";

export type L1Origin = Pick<L1BlockInfo, "number" | "timestamp">;

/**
 * The L1 origin of a block, by its first transaction.
 *
 * @returns `undefined`: the transaction has no L1 attributes
 */
export function l1OriginOf(first: Transaction | undefined): L1Origin | undefined {
  if (first?.type !== 0x7e) return undefined;
  try {
    return l1InfoOfPayload({ transactions: [encodeTransaction(first)] });
  } catch (error) {
    if (isCodedError(error, "l1-info/")) return undefined;
    throw error;
  }
}
