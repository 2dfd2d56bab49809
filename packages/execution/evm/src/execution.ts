import type { Authorization, BlockRules, Log, Transaction } from "@rnode/protocol";
import type { StateChanges } from "./state-changes.ts";

/** The block's values that the EVM can read. */
export interface BlockEnvironment {
  readonly number: bigint;
  readonly timestamp: bigint;
  readonly beneficiary: Uint8Array;
  readonly gasLimit: bigint;
  /** before London: 0 */
  readonly baseFeePerGas: bigint;
  /** proof of work only */
  readonly difficulty: bigint;
  readonly prevRandao: Uint8Array;
  /** 1 on OP Stack chains and before Cancun */
  readonly blobBaseFee: bigint;
}

export interface TransactionContext {
  /** as `recoverSender` returns it */
  readonly sender: Uint8Array;
  /** complete EIP-2718 encoding, from which the L1 data fee is computed */
  readonly encoded: Uint8Array;
  /** gas that the block's sequencer-defined metering takes off a signed transaction; default: none */
  readonly gasRefund?: bigint | undefined;
}

/** The result of a transaction that was included in a block. */
export interface TransactionOutcome {
  readonly status: 0 | 1;
  /** after refunds and the calldata floor, and then `gasRefund` */
  readonly gasUsed: bigint;
  readonly logs: readonly Log[];
  readonly output: Uint8Array;
  /** why status is 0 */
  readonly halt: HaltReason | undefined;
  /** address created by a creation transaction that succeeded */
  readonly createdAddress: Uint8Array | undefined;
  /** the sender's nonce before a deposit, from Regolith */
  readonly depositNonce: bigint | undefined;
  /** L1 data fee in wei; 0 for deposits and on Ethereum chains */
  readonly l1Fee: bigint;
  /** tip paid to the beneficiary, wei per gas */
  readonly effectiveTip: bigint;
}

export type HaltReason =
  | "revert"
  | "out-of-gas"
  | "stack-underflow"
  | "stack-overflow"
  | "invalid-jump"
  | "invalid-opcode"
  | "static-state-change"
  | "return-data-out-of-bounds"
  | "call-depth"
  | "insufficient-balance"
  | "create-collision"
  | "code-too-large"
  | "initcode-too-large"
  | "invalid-code-prefix"
  | "nonce-overflow"
  | "precompile-failure"
  | "deposit-failed";

/** Why a transaction cannot be included: the block (or the pool) refuses it, and nothing has changed. */
export type TransactionRejection =
  | "nonce-too-low"
  | "nonce-too-high"
  | "nonce-max"
  | "insufficient-funds"
  | "intrinsic-gas-too-low"
  | "floor-data-gas-too-high"
  | "gas-limit-exceeds-block"
  | "gas-limit-exceeds-cap"
  | "fee-cap-below-base-fee"
  | "tip-above-fee-cap"
  | "sender-not-eoa"
  | "initcode-too-large"
  | "type-not-supported"
  | "wrong-chain-id"
  | "blob-fee-cap-too-low"
  | "no-blobs"
  | "too-many-blobs"
  | "bad-blob-version"
  | "blob-creates-contract"
  | "empty-authorization-list"
  | "set-code-creates-contract"
  | "gas-overflow"
  | "gas-refund-too-high"
  | "system-transaction-after-regolith";

export type TransactionResult =
  | { readonly kind: "included"; readonly outcome: TransactionOutcome }
  | { readonly kind: "rejected"; readonly reason: TransactionRejection; readonly data: Readonly<Record<string, string | bigint>> };

/** A message for `eth_call`, gas estimation and system calls: no signature and no nonce check. */
export interface CallMessage {
  readonly from: Uint8Array;
  readonly to: Uint8Array | undefined;
  readonly gasLimit: bigint;
  readonly value: bigint;
  readonly data: Uint8Array;
  /** effective gas price, as GASPRICE returns it; charged up front unless zero */
  readonly gasPrice: bigint;
  readonly accessList?: readonly { readonly address: Uint8Array; readonly storageKeys: readonly Uint8Array[] }[] | undefined;
  /** EIP-7702; invalid ones are skipped, as in a transaction */
  readonly authorizationList?: readonly Authorization[] | undefined;
  /** the hashes that BLOBHASH returns */
  readonly blobVersionedHashes?: readonly Uint8Array[] | undefined;
}

export interface CallOutcome {
  readonly status: 0 | 1;
  /** the gas that a transaction would report: with intrinsic gas, less refunds */
  readonly gasUsed: bigint;
  /** the most gas used at any moment, before refunds */
  readonly maxGasUsed: bigint;
  readonly output: Uint8Array;
  readonly halt: HaltReason | undefined;
  /** the opcode, if `halt` is invalid-opcode */
  readonly invalidOpcode: number | undefined;
  readonly logs: readonly Log[];
  readonly createdAddress: Uint8Array | undefined;
}

/**
 * One block's execution on one engine. Everything happens on an overlay in the engine; nothing is written to the reader. Created by
 * `EvmEngine.beginBlock(rules, environment, reader)`; a second `beginBlock` on the same engine ends the first.
 */
export interface BlockExecution {
  readonly rules: BlockRules;
  readonly environment: BlockEnvironment;
  /** gas still available in the block, which `gasRefund` does not increase */
  readonly gasLeft: bigint;
  /** Validates and executes a transaction; a rejection leaves no trace. */
  applyTransaction(transaction: Transaction, context: TransactionContext): TransactionResult;
  /** Caller 0xff…fe, 30,000,000 gas; ignored if the target has no code (EIP-4788, EIP-2935). */
  systemCall(to: Uint8Array, data: Uint8Array): CallOutcome | undefined;
  /** Runs a message and discards its effects. */
  call(message: CallMessage): CallOutcome;
  /** Runs a message like `call`, but keeps its effects: gas is paid and refunded, and the beneficiary gets the tip. For simulations. */
  applyMessage(message: CallMessage): CallOutcome;
  /** Increases a balance without running code (withdrawals, rewards); an amount of 0 creates no account. */
  addBalance(address: Uint8Array, amount: bigint): void;
  /** For overrides, genesis and irregular state changes. Code undefined clears it. */
  setBalance(address: Uint8Array, balance: bigint): void;
  setNonce(address: Uint8Array, nonce: bigint): void;
  setCode(address: Uint8Array, code: Uint8Array): void;
  setStorage(address: Uint8Array, slot: Uint8Array, value: Uint8Array): void;
  /**
   * State override: moves the precompile at `from` to `to`, or removes it if `to` is undefined; calls to `from` then run the
   * account's code. Returns false if there is no precompile at `from`.
   */
  movePrecompile(from: Uint8Array, to: Uint8Array | undefined): boolean;
  /** Clears all storage of the account (a full state override). */
  clearStorage(address: Uint8Array): void;
  getBalance(address: Uint8Array): bigint;
  getNonce(address: Uint8Array): bigint;
  getCode(address: Uint8Array): Uint8Array;
  getStorage(address: Uint8Array, slot: Uint8Array): Uint8Array;
  /** Net changes since `beginBlock`. */
  changes(): StateChanges;
}
