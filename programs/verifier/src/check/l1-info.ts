import { isCodedError } from "@rnode/primitives";
import { decodeL1BlockInfo, type L1BlockInfo, type Transaction } from "@rnode/protocol";

/** The L1 attributes in a block's first transaction. @returns undefined: there are none */
export function l1InfoOf([first]: readonly Transaction[]): L1BlockInfo | undefined {
  if (first?.type !== 0x7e) return undefined;
  try {
    return decodeL1BlockInfo(first.data);
  } catch (error) {
    if (isCodedError(error, "l1-info/")) return undefined;
    throw error;
  }
}
