import { equalBytes, isCodedError } from "@rnode/primitives";
import type { Log, Receipt } from "./receipt.ts";

/** A malformed log of a contract. Only this log is skipped. */
export interface SkippedLog {
  /** position among all logs of the L1 block */
  readonly logIndex: number;
  /** the error code */
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
 * Reads the logs with a first topic that a contract emitted in the successful transactions of an L1 block.
 *
 * If `parse` rejects a log, only this log is skipped, because data on L1 must not stop derivation. Spec:
 * docs/protocol/02-derivation.md#data-that-cannot-be-decoded
 *
 * @param receipts of the whole block, because log indices count from its first log
 * @param parse throws a `CodedError` if the log is malformed; other errors are passed on
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
