import type { StoredBlock } from "@rnode/chain";
import { toQuantity } from "@rnode/primitives";
import { exactTimestamp } from "@rnode/protocol";
import { type ReadBackend, rulesAt } from "../backend/backend.ts";
import { blockToJson } from "./block-json.ts";
import { receiptsToJson } from "./receipt-json.ts";
import type { JsonObject } from "./transaction-json.ts";

// What the explorer Otterscan leaves out of blocks and receipts. Spec: https://docs.otterscan.io/api-docs/ots-api.html

/** A block without its bloom, with its number of transactions. */
export function otsBlock({ profile, store }: ReadBackend, stored: StoredBlock, full: boolean): JsonObject {
  const totalDifficulty = store.readTotalDifficulty(stored.hash);
  return {
    ...blockToJson(profile, stored, { full, totalDifficulty }),
    logsBloom: null,
    transactionCount: stored.block.transactions.length,
  };
}

/** Receipts without logs, with the block's time. @param only index of the only wanted one; undefined: all */
export function otsReceipts(backend: ReadBackend, stored: StoredBlock, only?: number): JsonObject[] {
  const { header } = stored.block;
  const timestamp = exactTimestamp(header);
  const receipts = receiptsToJson(backend.profile, rulesAt(backend, header), stored, only);
  return receipts.map((receipt) => ({ ...receipt, logs: null, logsBloom: null, timestamp }));
}

/** The fees for gas of all transactions, without those for L1 and the operator, as op-reth counts them. */
export function gasFees(receipts: readonly JsonObject[]): string {
  const fees = receipts.map(({ gasUsed, effectiveGasPrice }) => BigInt(gasUsed as string) * BigInt(effectiveGasPrice as string));
  return toQuantity(fees.reduce((sum, fee) => sum + fee, 0n));
}
