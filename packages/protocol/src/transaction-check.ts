import type { BlockRules } from "./chain-config.ts";
import type { ForkRules } from "./forks/rules.ts";
import { floorDataGas, intrinsicGas } from "./intrinsic-gas.ts";
import type { BlobTransaction, Transaction, TransactionType } from "./transaction.ts";

/** Why no block under these rules can contain a transaction, whatever the state. */
export type TransactionFault =
  | "type-not-supported"
  | "wrong-chain-id"
  | "nonce-max"
  | "gas-overflow"
  | "gas-limit-exceeds-cap"
  | "tip-above-fee-cap"
  | "initcode-too-large"
  | "intrinsic-gas-too-low"
  | "floor-data-gas-too-high"
  | "no-blobs"
  | "bad-blob-version"
  | "too-many-blobs"
  | "empty-authorization-list"
  | "system-transaction-after-regolith";

const MAX_UINT64 = 2n ** 64n - 1n;
const BLOB_HASH_VERSION = 0x01;

/** Whether a block under these rules may contain transactions of this type. */
export function isTransactionTypeAllowed(rules: ForkRules, type: TransactionType): boolean {
  switch (type) {
    case 0x00:
      return true;
    case 0x01:
      return rules.acceptsAccessLists;
    case 0x02:
      return rules.acceptsDynamicFees;
    case 0x03:
      return rules.acceptsBlobs;
    case 0x04:
      return rules.acceptsSetCode;
    case 0x7e:
      return rules.acceptsDeposits;
  }
}

/**
 * Checks the rules that depend only on the transaction and the fork. Signature and sender are checked by `recoverSender`.
 *
 * Only one such rule concerns deposits: anything else that is wrong with them is a failed execution, not an invalid block.
 */
export function checkTransaction(rules: BlockRules, tx: Transaction): TransactionFault | undefined {
  if (!isTransactionTypeAllowed(rules, tx.type)) return "type-not-supported";
  if (tx.type === 0x7e) {
    return tx.isSystemTx && !rules.hasFreeSystemTransactions ? "system-transaction-after-regolith" : undefined;
  }
  if (tx.chainId !== undefined && (tx.chainId !== rules.chainId || !rules.allowsChainIdInSignature)) {
    return "wrong-chain-id";
  }
  if (tx.nonce === MAX_UINT64) return "nonce-max"; // EIP-2681
  const maxPrice = "gasPrice" in tx ? tx.gasPrice : tx.maxFeePerGas;
  if ((tx.gasLimit * maxPrice) >> 256n) return "gas-overflow";
  if ("maxPriorityFeePerGas" in tx && tx.maxPriorityFeePerGas > tx.maxFeePerGas) return "tip-above-fee-cap";
  if (rules.maxTransactionGas !== undefined && tx.gasLimit > rules.maxTransactionGas) return "gas-limit-exceeds-cap";
  if (tx.to === undefined && tx.data.length > rules.maxInitcodeBytes) return "initcode-too-large";
  if (tx.gasLimit < intrinsicGas(rules, tx)) return "intrinsic-gas-too-low";
  if (tx.gasLimit < floorDataGas(rules, tx.data)) return "floor-data-gas-too-high";
  if (tx.type === 0x03) return checkBlobs(rules, tx);
  if (tx.type === 0x04 && tx.authorizationList.length === 0) return "empty-authorization-list";
  return undefined;
}

function checkBlobs(rules: BlockRules, tx: BlobTransaction): TransactionFault | undefined {
  const count = tx.blobVersionedHashes.length;
  if (count === 0) return "no-blobs";
  if (tx.blobVersionedHashes.some((hash) => hash[0] !== BLOB_HASH_VERSION)) return "bad-blob-version";
  const max = rules.blobParams?.max ?? 0;
  return count > Math.min(rules.maxBlobsPerTransaction, max) ? "too-many-blobs" : undefined;
}
