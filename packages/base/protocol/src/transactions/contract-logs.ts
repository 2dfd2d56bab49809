import { equalBytes, isCodedError } from "@rnode/primitives";
import type { Log, Receipt } from "./receipt.ts";

/** A log that is not in the form that its contract emits. It alone has no effect. */
export interface SkippedLog {
  /** position among all logs of the L1 block */
  readonly logIndex: number;
  /** the error code of what is wrong with it */
  readonly reason: string;
}

export interface ContractLogs<T> {
  /** in the order of the logs */
  readonly read: readonly T[];
  readonly skipped: readonly SkippedLog[];
}

export interface LogPlace {
  /** position among all logs of the L1 block */
  readonly logIndex: number;
  readonly transactionIndex: number;
}

/**
 * Reads the logs that a contract has emitted with a first topic, in the successful transactions of an L1 block.
 *
 * A log that `parse` rejects is skipped alone: nothing that L1 can carry may stop derivation.
 * Spec: docs/protocol/02-derivation.md#data-that-cannot-be-decoded
 *
 * @param receipts of the whole block, as log indices count from its first log
 * @param parse throws a `CodedError` if the log is malformed; other errors pass
 */
export function readContractLogs<T>(
  receipts: readonly Receipt[],
  { address, topic }: { readonly address: Uint8Array; readonly topic: Uint8Array },
  parse: (log: Log, place: LogPlace) => T,
): ContractLogs<T> {
  const read: T[] = [];
  const skipped: SkippedLog[] = [];
  let nextIndex = 0;
  for (const [transactionIndex, { status, logs }] of receipts.entries()) {
    for (const log of logs) {
      const logIndex = nextIndex++;
      const [first] = log.topics;
      if (status !== 1 || first === undefined || !equalBytes(log.address, address) || !equalBytes(first, topic)) continue;
      try {
        read.push(parse(log, { logIndex, transactionIndex }));
      } catch (error) {
        if (!isCodedError(error)) throw error;
        skipped.push({ logIndex, reason: error.code });
      }
    }
  }
  return { read, skipped };
}
