import type { BlockRules } from "./chain-config.ts";
import { type EvmFork, isEvmForkAtLeast, isOpForkAtLeast } from "./forks.ts";
import { floorDataGas, intrinsicGas } from "./intrinsic-gas.ts";
import type { BlobTransaction, Transaction, TransactionType } from "./transaction.ts";

/** Why a transaction can be in no block of these rules, whatever the state. */
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

const FORK_OF_TYPE: Readonly<Record<Exclude<TransactionType, 0x7e>, EvmFork>> = {
  0: "frontier",
  1: "berlin",
  2: "london",
  3: "cancun",
  4: "prague",
};

const MAX_UINT64 = 2n ** 64n - 1n;
const MAX_INITCODE_BYTES = 49_152;
/** EIP-7825 */
const MAX_TRANSACTION_GAS = 16_777_216n;
/** EIP-7594: blobs in one transaction, from Osaka */
const MAX_BLOBS_PER_TRANSACTION = 6;
const BLOB_HASH_VERSION = 0x01;

/**
 * The rules that depend on nothing but the transaction and the fork. Signature and sender are checked by `recoverSender`.
 *
 * Deposits have no such rule but one (everything else that is wrong with them is a failed execution, not an invalid block).
 */
export function checkTransaction(rules: BlockRules, tx: Transaction): TransactionFault | undefined {
  if (tx.type === 0x7e) {
    if (rules.op === undefined) return "type-not-supported";
    return tx.isSystemTx && isOpForkAtLeast(rules.op, "regolith") ? "system-transaction-after-regolith" : undefined;
  }
  if (!isEvmForkAtLeast(rules.evm, FORK_OF_TYPE[tx.type])) return "type-not-supported";
  if (tx.type === 0x03 && rules.op !== undefined) return "type-not-supported";
  if (tx.chainId !== undefined && (tx.chainId !== rules.chainId || !isEvmForkAtLeast(rules.evm, "spuriousDragon"))) {
    return "wrong-chain-id";
  }
  if (tx.nonce === MAX_UINT64) return "nonce-max"; // EIP-2681
  const maxPrice = "gasPrice" in tx ? tx.gasPrice : tx.maxFeePerGas;
  if ((tx.gasLimit * maxPrice) >> 256n) return "gas-overflow";
  if ("maxPriorityFeePerGas" in tx && tx.maxPriorityFeePerGas > tx.maxFeePerGas) return "tip-above-fee-cap";
  if (isEvmForkAtLeast(rules.evm, "osaka") && tx.gasLimit > MAX_TRANSACTION_GAS) return "gas-limit-exceeds-cap";
  if (tx.to === undefined && isEvmForkAtLeast(rules.evm, "shanghai") && tx.data.length > MAX_INITCODE_BYTES) {
    return "initcode-too-large";
  }
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
  const cap = isEvmForkAtLeast(rules.evm, "osaka") ? Math.min(MAX_BLOBS_PER_TRANSACTION, max) : max;
  return count > cap ? "too-many-blobs" : undefined;
}
