import { isCodedError } from "@rnode/primitives";
import { decodeL1BlockInfo, type L1BlockInfo, type Transaction } from "@rnode/protocol";

/** What a block's first transaction says of L1. @returns undefined: it has none that does */
export function l1InfoOf([first]: readonly Transaction[]): L1BlockInfo | undefined {
  if (first?.type !== 0x7e) return undefined;
  try {
    return decodeL1BlockInfo(first.data);
  } catch (error) {
    if (isCodedError(error, "l1-info/")) return undefined;
    throw error;
  }
}
