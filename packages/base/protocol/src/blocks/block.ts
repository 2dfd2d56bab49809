import type { ExactFields } from "../params/exact-fields.ts";
import type { Transaction } from "../transactions/transaction.ts";

/** Block header; the optional fields exist from their fork on, in this order. */
export interface Header {
  readonly parentHash: Uint8Array;
  readonly ommersHash: Uint8Array;
  /** 20 bytes: miner, fee recipient */
  readonly beneficiary: Uint8Array;
  readonly stateRoot: Uint8Array;
  readonly transactionsRoot: Uint8Array;
  readonly receiptsRoot: Uint8Array;
  /** 256 bytes */
  readonly logsBloom: Uint8Array;
  readonly difficulty: bigint;
  /** rounded above 2^53 − 1: see `exact` */
  readonly number: number;
  readonly gasLimit: bigint;
  readonly gasUsed: bigint;
  /** seconds; rounded above 2^53 − 1: see `exact` */
  readonly timestamp: number;
  readonly extraData: Uint8Array;
  /** mixHash; prevRandao after the merge */
  readonly mixHash: Uint8Array;
  /** 8 bytes */
  readonly nonce: Uint8Array;
  readonly baseFeePerGas?: bigint | undefined;
  readonly withdrawalsRoot?: Uint8Array | undefined;
  readonly blobGasUsed?: bigint | undefined;
  readonly excessBlobGas?: bigint | undefined;
  readonly parentBeaconBlockRoot?: Uint8Array | undefined;
  readonly requestsHash?: Uint8Array | undefined;
  /** keccak256 of the RLP of the block access list (EIP-7928); set if and only if `slotNumber` is */
  readonly blockAccessListHash?: Uint8Array | undefined;
  /** of the beacon chain, 64 bits (EIP-7843) */
  readonly slotNumber?: bigint | undefined;
  /** not a header field: the exact values for `exactNumber` and `exactTimestamp` */
  readonly exact?: ExactFields | undefined;
}

export interface Withdrawal {
  readonly index: bigint;
  readonly validatorIndex: bigint;
  readonly address: Uint8Array;
  /** gwei */
  readonly amount: bigint;
}

export interface Block {
  readonly header: Header;
  readonly transactions: readonly Transaction[];
  readonly ommers: readonly Header[];
  readonly withdrawals?: readonly Withdrawal[] | undefined;
}
