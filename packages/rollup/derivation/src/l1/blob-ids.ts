import { equalBytes } from "@rnode/primitives";
import type { L1Transaction, Transaction } from "@rnode/protocol";
import type { BlobId } from "./providers.ts";

export const BLOB_TRANSACTION = 0x03;

/**
 * The transactions of a block with their blobs, without transactions of unknown types. The index counts all blobs of the block,
 * regardless of the sender.
 */
export function withBlobIds(
  transactions: readonly L1Transaction[],
): readonly { readonly transaction: Transaction; readonly blobIds: readonly BlobId[] }[] {
  let index = 0;
  return transactions.flatMap((transaction) => {
    if (transaction.type === "unknown") return [];
    const hashes = transaction.type === BLOB_TRANSACTION ? transaction.blobVersionedHashes : [];
    return [{ transaction, blobIds: hashes.map((versionedHash) => ({ index: index++, versionedHash })) }];
  });
}

/** The blobs of all transactions to `inbox`, for fetching before the valid batcher is known. */
export function blobIdsSentTo(inbox: Uint8Array, transactions: readonly L1Transaction[]): readonly BlobId[] {
  return withBlobIds(transactions).flatMap(({ transaction: { to }, blobIds }) =>
    to !== undefined && equalBytes(to, inbox) ? blobIds : [],
  );
}
