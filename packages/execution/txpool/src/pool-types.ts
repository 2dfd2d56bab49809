import type { SignedTransaction } from "@rnode/protocol";

/** A transaction in the pool, with the values that are needed again and again. */
export interface PooledTransaction {
  readonly transaction: SignedTransaction;
  /** 20 bytes */
  readonly sender: Uint8Array;
  /** complete EIP-2718 encoding */
  readonly encoded: Uint8Array;
  /** 32 bytes */
  readonly hash: Uint8Array;
  /** as the operator chose: remote transactions are evicted first, and local ones are exempt from the minimum tip */
  readonly isLocal: boolean;
  /** EIP-7702: the accounts, 20 bytes each, that signed the transaction's authorizations */
  readonly authorities?: readonly Uint8Array[] | undefined;
  /** when it arrived, by the caller's clock */
  readonly arrivedAtSec: number;
}

export interface PoolAccount {
  readonly nonce: bigint;
  readonly balance: bigint;
  /** has code that is not a delegation (EIP-3607, EIP-7702) */
  readonly isContract: boolean;
  /** EIP-7702: its code is a delegation, so its balance can be spent without its key */
  readonly isDelegated: boolean;
}

/** The pool's data of the chain's head; `TxPool.reset` replaces it as a whole. */
export interface PoolHead {
  readonly chainId: bigint;
  readonly baseFeeWei: bigint;
  /** maximum gas of a transaction: the block's limit minus the gas of the L1 attributes deposit */
  readonly gasLimit: bigint;
  /** EIP-7825, from Karst; `undefined`: none */
  readonly transactionGasCap: bigint | undefined;
  readonly acceptsSetCode: boolean;
  /** default: no, as an OP Stack chain has none */
  readonly acceptsBlobs?: boolean | undefined;
  /** the most blobs of one transaction */
  readonly maxBlobsPerTransaction?: number | undefined;
  /** EIP-3860 */
  readonly maxInitcodeBytes: number;
  readAccount(address: Uint8Array): PoolAccount;
  /** under the rules of the next block */
  intrinsicGas(transaction: SignedTransaction): bigint;
  /** EIP-7623: the minimum cost of the data; 0 before */
  floorDataGas(transaction: SignedTransaction): bigint;
  /** wei in addition to gas and value: the L1 data fee, and the operator fee for the gas limit; 0 on an Ethereum chain */
  rollupFee(transaction: SignedTransaction, encoded: Uint8Array): bigint;
}

export interface PoolLimits {
  /** slots of 32 KiB that all transactions together may take */
  readonly maxSlots: number;
  /** executable transactions of one sender */
  readonly maxPendingPerSender: number;
  /** transactions of one sender that wait for a missing nonce or for funds */
  readonly maxQueuedPerSender: number;
  /** queued transactions of all senders; above the limit, the sender with the most queued loses its last one */
  readonly maxQueued: number;
  readonly maxTransactionBytes: number;
  /** wei; local transactions are exempt */
  readonly minimumTipWei: bigint;
  /** percent by which both fees of a replacement must be higher */
  readonly priceBumpPercent: bigint;
  /** the same for a blob transaction, whose blob fee must be higher as well: spreading new blobs is costly */
  readonly blobPriceBumpPercent: bigint;
  /** queued transactions are dropped after this */
  readonly queuedLifetimeMs: number;
}

/** Geth's defaults, with room for a sequencer's load. */
export const DEFAULT_POOL_LIMITS: PoolLimits = {
  maxSlots: 20_000,
  maxPendingPerSender: 2_048,
  maxQueuedPerSender: 256,
  maxQueued: 10_000,
  maxTransactionBytes: 131_072,
  minimumTipWei: 0n,
  priceBumpPercent: 10n,
  blobPriceBumpPercent: 100n,
  queuedLifetimeMs: 3 * 3_600_000,
};

/** Why the pool refused a transaction; the numbers that belong to it are in `data`. The texts are in the RPC's error tables. */
export type PoolRefusal =
  | "already-known"
  | "type-not-supported"
  | "wrong-chain-id"
  | "oversized"
  | "initcode-too-large"
  | "exceeds-block-gas-limit"
  | "exceeds-transaction-gas-cap"
  | "tip-above-fee-cap"
  | "underpriced"
  | "intrinsic-gas-too-low"
  | "floor-data-gas-too-low"
  | "empty-authorization-list"
  | "sender-not-eoa"
  | "nonce-too-low"
  | "nonce-max"
  | "insufficient-funds"
  | "replacement-underpriced"
  | "account-limit-exceeded"
  | "delegated-gap"
  | "delegated-limit"
  | "authority-reserved"
  /** an account has either blob transactions or others in the pool */
  | "sender-reserved"
  | "too-many-blobs"
  | "future-replaces-pending"
  /** the pool is full, and nothing in it is cheaper */
  | "underpriced-when-full"
  /** evicting all cheaper ones would not make enough room */
  | "pool-full";

/** Why an acceptable transaction cannot be included yet. */
export type PoolWait =
  /** `next`: the nonce that the sender's next transaction must have */
  | { readonly kind: "nonce-gap"; readonly next: bigint }
  /** its sender has the maximum number of pending transactions */
  | { readonly kind: "queued" };

export type AddResult =
  | {
      readonly kind: "added";
      readonly pooled: PooledTransaction;
      readonly isPending: boolean;
      readonly replaced: PooledTransaction | undefined;
    }
  | { readonly kind: "refused"; readonly reason: PoolRefusal; readonly data: Readonly<Record<string, bigint>> };
