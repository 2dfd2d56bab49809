import type { Signature } from "@rnode/primitives";

export interface AccessListEntry {
  /** 20 bytes */
  readonly address: Uint8Array;
  /** 32 bytes each */
  readonly storageKeys: readonly Uint8Array[];
}

/** EIP-7702 authorization tuple, as signed. */
export interface Authorization {
  readonly chainId: bigint;
  readonly address: Uint8Array;
  readonly nonce: bigint;
  /** uint8 on the wire; only 0 and 1 can recover a signer */
  readonly yParity: number;
  readonly r: bigint;
  readonly s: bigint;
}

interface CommonFields {
  readonly gasLimit: bigint;
  /** 20 bytes; undefined creates a contract */
  readonly to: Uint8Array | undefined;
  readonly value: bigint;
  readonly data: Uint8Array;
}

interface SignedFields extends CommonFields {
  readonly nonce: bigint;
  /** undefined before signing */
  readonly signature?: Signature | undefined;
}

export interface LegacyTransaction extends SignedFields {
  readonly type: 0x00;
  readonly gasPrice: bigint;
  /** undefined for signatures without replay protection (EIP-155) */
  readonly chainId: bigint | undefined;
}

export interface AccessListTransaction extends SignedFields {
  readonly type: 0x01;
  readonly chainId: bigint;
  readonly gasPrice: bigint;
  readonly accessList: readonly AccessListEntry[];
}

export interface FeeMarketTransaction extends SignedFields {
  readonly type: 0x02;
  readonly chainId: bigint;
  readonly maxPriorityFeePerGas: bigint;
  readonly maxFeePerGas: bigint;
  readonly accessList: readonly AccessListEntry[];
}

/** L1 only: never valid on an OP Stack chain. The sidecar is not part of it. */
export interface BlobTransaction extends SignedFields {
  readonly type: 0x03;
  readonly chainId: bigint;
  readonly maxPriorityFeePerGas: bigint;
  readonly maxFeePerGas: bigint;
  readonly accessList: readonly AccessListEntry[];
  readonly maxFeePerBlobGas: bigint;
  readonly blobVersionedHashes: readonly Uint8Array[];
}

/** EIP-7702. */
export interface SetCodeTransaction extends SignedFields {
  readonly type: 0x04;
  readonly chainId: bigint;
  readonly maxPriorityFeePerGas: bigint;
  readonly maxFeePerGas: bigint;
  readonly accessList: readonly AccessListEntry[];
  readonly authorizationList: readonly Authorization[];
}

/** The OP Stack's deposit: no signature, no nonce, no fee. Spec: docs/protocol/01-execution.md#deposit-transaction */
export interface DepositTransaction extends CommonFields {
  readonly type: 0x7e;
  readonly sourceHash: Uint8Array;
  readonly from: Uint8Array;
  /** wei minted to `from`; `undefined` and 0 have the same encoding */
  readonly mint: bigint;
  readonly isSystemTx: boolean;
}

/**
 * The gas refunds of a block that uses sequencer-defined metering: its last transaction, unsigned and never executed. Spec:
 * docs/protocol/01-execution.md#sequencer-defined-metering
 */
export interface PostExecTransaction extends CommonFields {
  readonly type: 0x7d;
  readonly gasLimit: 0n;
  readonly to: undefined;
  readonly value: 0n;
  /** RLP of the payload: everything after the type byte. `readPostExecPayload` reads it */
  readonly data: Uint8Array;
}

export type SignedTransaction =
  | LegacyTransaction
  | AccessListTransaction
  | FeeMarketTransaction
  | BlobTransaction
  | SetCodeTransaction;

export type Transaction = SignedTransaction | DepositTransaction | PostExecTransaction;
export type TransactionType = Transaction["type"];

const TRANSACTION_TYPES: readonly number[] = [0x00, 0x01, 0x02, 0x03, 0x04, 0x7d, 0x7e] satisfies TransactionType[];

/** Whether users send transactions of this type: neither deposits nor post-exec transactions have a signature. */
export const isSigned = (tx: Transaction): tx is SignedTransaction => tx.type !== 0x7e && tx.type !== 0x7d;

/** Whether a transaction of this type, and its receipt, can be decoded. */
export const isKnownTransactionType = (type: number): boolean => TRANSACTION_TYPES.includes(type);

/** A transaction of L1 of an unknown type: it counts for the transactions root, and is never a batch. */
export interface UnknownTransaction {
  readonly type: "unknown";
  /** first byte of its EIP-2718 encoding */
  readonly typeByte: number;
}

/** A transaction of an L1 block. */
export type L1Transaction = Transaction | UnknownTransaction;
