import type { Hex } from "@rnode/primitives";
import type { Receipt } from "../transactions/receipt.ts";

/** The fields of a block's header that are known before its first transaction. */
export interface FlashblockBase {
  readonly parentBeaconBlockRoot: Uint8Array;
  readonly parentHash: Uint8Array;
  readonly feeRecipient: Uint8Array;
  readonly prevRandao: Uint8Array;
  readonly blockNumber: number;
  readonly gasLimit: bigint;
  readonly timestamp: number;
  readonly extraData: Uint8Array;
  readonly baseFeePerGas: bigint;
}

/** What a part adds to its block. All sums and roots are those of the whole block so far. */
export interface FlashblockDiff {
  /** zero if the producer does not compute it; also `blockHash` and `withdrawalsRoot` */
  readonly stateRoot: Uint8Array;
  readonly receiptsRoot: Uint8Array;
  /** 256 bytes */
  readonly logsBloom: Uint8Array;
  readonly gasUsed: bigint;
  readonly blockHash: Uint8Array;
  /** encodings of the new transactions only */
  readonly transactions: readonly Uint8Array[];
  readonly withdrawalsRoot: Uint8Array;
  /** from Jovian: the DA footprint */
  readonly blobGasUsed?: bigint | undefined;
  /** the block's transaction of type 0x7d, which is not in `transactions`; that of a later part replaces it */
  readonly postExecTx?: Uint8Array | undefined;
}

/**
 * One part of a block under construction: `ExecutionPayloadFlashblockDeltaV1` of public streams.
 * Spec: docs/protocol/07-flashblocks.md#message
 */
export interface Flashblock {
  /** 8 bytes, as the Engine API gives it */
  readonly payloadId: Hex;
  /** from 0 */
  readonly index: number;
  /** only in the first part */
  readonly base: FlashblockBase | undefined;
  readonly diff: FlashblockDiff;
  readonly blockNumber: number;
}

/** What the metadata of a part repeats for readers that do not execute. */
export interface FlashblockMetadata {
  /** of the new transactions, by hash */
  readonly receipts: ReadonlyMap<Hex, Receipt>;
  /** wei, by address, of the accounts that the block has changed so far */
  readonly balances: ReadonlyMap<Hex, bigint>;
}

/** The number of parts of a block is below this. */
export const MAX_FLASHBLOCKS = 1_000;
