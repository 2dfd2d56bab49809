import { ChangeRecords, recordedChanges, type StateChanges } from "@rnode/evm";
import { type Hex, keccak256 } from "@rnode/primitives";
import { decodeHeader, decodeTransaction, encodeHeader, encodeTransaction, type Receipt } from "@rnode/protocol";
import type { PendingBlock } from "../chain-parts.ts";

/** A block under construction as plain data for another process or thread, without the transactions that it has already. */
export interface PendingUpdate {
  readonly payloadId: Hex;
  readonly index: number;
  readonly earlier: number;
  /** number of transactions that the receiver has */
  readonly known: number;
  readonly header: Uint8Array;
  readonly hasWithdrawals: boolean;
  readonly transactions: readonly Uint8Array[];
  readonly senders: readonly Uint8Array[];
  readonly receipts: readonly Receipt[];
  readonly changes: Uint8Array | StateChanges["accounts"];
  readonly codes: StateChanges["codes"];
}

/** @param last what the receiver has; undefined: nothing */
export function pendingUpdateOf(pending: PendingBlock, last: PendingBlock | undefined): PendingUpdate {
  const { payloadId, index, earlier, block, senders, receipts, changes } = pending;
  const known = last?.payloadId === payloadId && last.index < index ? last.block.transactions.length : 0;
  return {
    payloadId,
    index,
    earlier,
    known,
    header: encodeHeader(block.header),
    hasWithdrawals: block.withdrawals !== undefined,
    transactions: block.transactions.slice(known).map(encodeTransaction),
    senders: senders.slice(known),
    receipts: receipts.slice(known),
    changes: changes.records?.bytes ?? changes.accounts,
    codes: changes.codes,
  };
}

/** @param last what the last update gave. @returns undefined if an update before this one is missing */
export function pendingBlockFrom(update: PendingUpdate, last: PendingBlock | undefined): PendingBlock | undefined {
  const { payloadId, index, earlier, known, header, changes, codes } = update;
  const isContinued = known === 0 || (last?.payloadId === payloadId && last.block.transactions.length === known);
  if (!isContinued) return undefined;
  const before = known === 0 ? undefined : last;
  const transactions = [...(before?.block.transactions ?? []), ...update.transactions.map(decodeTransaction)];
  return {
    payloadId,
    index,
    earlier,
    block: { header: decodeHeader(header), transactions, ommers: [], ...(update.hasWithdrawals && { withdrawals: [] }) },
    hash: keccak256(header),
    senders: [...(before?.senders ?? []), ...update.senders],
    receipts: [...(before?.receipts ?? []), ...update.receipts],
    changes: changes instanceof Uint8Array ? recordedChanges(new ChangeRecords(changes), codes) : { accounts: changes, codes },
  };
}
