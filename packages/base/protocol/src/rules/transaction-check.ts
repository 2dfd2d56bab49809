import type { BlockRules } from "../chains/chain-config.ts";
import type { ForkRules } from "../forks/rules.ts";
import type { Authorization, Transaction, TransactionType } from "../transactions/transaction.ts";
import { floorDataGas, intrinsicGas } from "./intrinsic-gas.ts";

/**
 * Why a transaction with these contents is invalid in all blocks under these rules, regardless of its sender, nonce, gas and
 * fees.
 */
export type ContentsFault =
  | "initcode-too-large"
  | "no-blobs"
  | "bad-blob-version"
  | "too-many-blobs"
  | "blob-creates-contract"
  | "empty-authorization-list"
  | "set-code-creates-contract";

/** Why a transaction is invalid in all blocks under these rules, regardless of the state. */
export type TransactionFault =
  | ContentsFault
  | "type-not-supported"
  | "wrong-chain-id"
  | "nonce-max"
  | "gas-overflow"
  | "gas-limit-exceeds-cap"
  | "tip-above-fee-cap"
  | "intrinsic-gas-too-low"
  | "floor-data-gas-too-high"
  | "system-transaction-after-regolith";

/** The fields of a transaction or call for the checks of its contents. */
export interface TransactionContents {
  /** `undefined` for a creation */
  readonly to: Uint8Array | undefined;
  readonly data: Uint8Array;
  /** `undefined` unless it is a blob transaction */
  readonly blobVersionedHashes?: readonly Uint8Array[] | undefined;
  /** `undefined` unless it is a set-code transaction */
  readonly authorizationList?: readonly Authorization[] | undefined;
}

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
    case 0x7d:
      return rules.acceptsGasRefunds;
    case 0x7e:
      return rules.acceptsDeposits;
  }
}

/**
 * Checks the rules that depend only on the transaction and the fork. `recoverSender` checks signature and sender.
 *
 * Only one such rule concerns deposits: any other error in a deposit is a failed execution, not an invalid block.
 */
export function checkTransaction(rules: BlockRules, tx: Transaction): TransactionFault | undefined {
  if (!isTransactionTypeAllowed(rules, tx.type)) return "type-not-supported";
  if (tx.type === 0x7e) {
    return tx.isSystemTx && !rules.hasFreeSystemTransactions ? "system-transaction-after-regolith" : undefined;
  }
  if (tx.type === 0x7d) return undefined;
  if (tx.chainId !== undefined && (tx.chainId !== rules.chainId || !rules.allowsChainIdInSignature)) {
    return "wrong-chain-id";
  }
  if (tx.nonce === MAX_UINT64) return "nonce-max"; // EIP-2681
  const maxPrice = "gasPrice" in tx ? tx.gasPrice : tx.maxFeePerGas;
  if ((tx.gasLimit * maxPrice) >> 256n) return "gas-overflow";
  if ("maxPriorityFeePerGas" in tx && tx.maxPriorityFeePerGas > tx.maxFeePerGas) return "tip-above-fee-cap";
  if (rules.maxTransactionGas !== undefined && tx.gasLimit > rules.maxTransactionGas) return "gas-limit-exceeds-cap";
  const fault = checkContents(rules, tx);
  if (fault !== undefined) return fault;
  if (tx.gasLimit < intrinsicGas(rules, tx)) return "intrinsic-gas-too-low";
  return tx.gasLimit < floorDataGas(rules, tx.data) ? "floor-data-gas-too-high" : undefined;
}

/** The common checks of transactions and calls. On an OP Stack chain, only the transaction limit bounds a call's blobs. */
export function checkContents(
  rules: Pick<BlockRules, "maxInitcodeBytes" | "acceptsBlobs" | "maxBlobsPerTransaction" | "blobParams">,
  { to, data, blobVersionedHashes: hashes, authorizationList }: TransactionContents,
): ContentsFault | undefined {
  if (hashes !== undefined) {
    if (to === undefined) return "blob-creates-contract";
    if (hashes.length === 0) return "no-blobs";
    if (hashes.some((hash) => hash[0] !== BLOB_HASH_VERSION)) return "bad-blob-version";
    const max = rules.blobParams?.max ?? (rules.acceptsBlobs ? 0 : hashes.length);
    if (hashes.length > Math.min(rules.maxBlobsPerTransaction, max)) return "too-many-blobs";
  }
  if (authorizationList !== undefined) {
    if (to === undefined) return "set-code-creates-contract";
    if (authorizationList.length === 0) return "empty-authorization-list";
  }
  return to === undefined && data.length > rules.maxInitcodeBytes ? "initcode-too-large" : undefined;
}
