import type { SignedTransaction } from "@rnode/protocol";

/** A transaction in the pool with what is asked of it again and again. */
export interface PooledTransaction {
  readonly transaction: SignedTransaction;
  /** 20 bytes */
  readonly sender: Uint8Array;
  /** complete EIP-2718 encoding */
  readonly encoded: Uint8Array;
  /** 32 bytes */
  readonly hash: Uint8Array;
  /** local transactions came in over this node's own RPC: remote ones are evicted before them, and they are not held to the minimum tip */
  readonly isLocal: boolean;
  /** EIP-7702: the accounts, 20 bytes each, whose authorizations are in the transaction */
  readonly authorities?: readonly Uint8Array[] | undefined;
  /** when it arrived, in the caller's clock */
  readonly arrivedAtSec: number;
}

export interface PoolAccount {
  readonly nonce: bigint;
  readonly balance: bigint;
  /** has code that is not a delegation (EIP-3607, EIP-7702) */
  readonly isContract: boolean;
  /** EIP-7702: its code is a delegation, which may spend its balance without its key */
  readonly isDelegated: boolean;
}

/** What the pool needs to know of the chain's head; replaced as a whole by `TxPool.reset`. */
export interface PoolHead {
  readonly chainId: bigint;
  readonly baseFeeWei: bigint;
  /** what a transaction may use at most: the block's limit less what the L1 attributes deposit needs */
  readonly gasLimit: bigint;
  /** EIP-7825, from Karst; undefined: none */
  readonly transactionGasCap: bigint | undefined;
  readonly acceptsSetCode: boolean;
  /** default: no, an OP Stack chain has none */
  readonly acceptsBlobs?: boolean | undefined;
  /** EIP-3860 */
  readonly maxInitcodeBytes: number;
  readAccount(address: Uint8Array): PoolAccount;
  /** at the fork of the next block */
  intrinsicGas(transaction: SignedTransaction): bigint;
  /** EIP-7623: what the data costs at least; 0 before */
  floorDataGas(transaction: SignedTransaction): bigint;
  /** wei beside gas and value: the L1 data fee and the operator fee for the gas limit; 0 on an Ethereum chain */
  rollupFee(transaction: SignedTransaction, encoded: Uint8Array): bigint;
}

export interface PoolLimits {
  /** slots of 32 KiB all transactions may take together */
  readonly maxSlots: number;
  /** executable transactions of one sender */
  readonly maxPendingPerSender: number;
  /** transactions of one sender that wait for a missing nonce or for funds */
  readonly maxQueuedPerSender: number;
  /** transactions of all senders that wait; beyond, who queues most loses its last one */
  readonly maxQueued: number;
  readonly maxTransactionBytes: number;
  /** wei; local transactions are exempt */
  readonly minimumTipWei: bigint;
  /** percent by which both fees of a replacement must be higher */
  readonly priceBumpPercent: bigint;
  /** queued transactions are dropped after this */
  readonly queuedLifetimeSec: number;
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
  queuedLifetimeSec: 3 * 3600,
};

/** Why the pool refused a transaction; the numbers that belong to it are in `data`. Texts: the RPC's error tables. */
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
  | "future-replaces-pending"
  /** the pool is full, and nothing in it is cheaper */
  | "underpriced-when-full"
  /** cheaper ones are not enough to make room */
  | "pool-full";

export type AddResult =
  | {
      readonly kind: "added";
      readonly pooled: PooledTransaction;
      readonly isPending: boolean;
      readonly replaced: PooledTransaction | undefined;
    }
  | { readonly kind: "refused"; readonly reason: PoolRefusal; readonly data: Readonly<Record<string, bigint>> };
