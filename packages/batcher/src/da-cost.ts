import type { L1FeeMarket } from "@rnode/l1";
import { BLOB_BYTES, MAX_BLOB_DATA_BYTES } from "@rnode/protocol";
import type { ChannelConfig } from "./channel-config.ts";

const TX_GAS = 21_000n;
const CALLDATA_GAS_PER_BYTE = 16n;
/** EIP-7623: what a transaction pays at least for each byte that is not zero */
const FLOOR_GAS_PER_BYTE = 40n;
const VERSION_BYTES = 1;

/** What a full transaction costs, and how much it carries. */
export interface DaCost {
  readonly feeWei: bigint;
  readonly sizeBytes: bigint;
}

/**
 * The cost of a full transaction: every byte counts as one that is not zero. Spec: docs/protocol/05-services.md#channel-building
 *
 * @param tipWei the priority fee that will be offered
 */
export function fullTransactionCost(config: ChannelConfig, market: L1FeeMarket, tipWei: bigint): DaCost {
  const gasPrice = market.baseFee + tipWei;
  if (config.carrier === "blobs") {
    const count = BigInt(config.targetFrames);
    return {
      feeWei: count * BigInt(BLOB_BYTES) * (market.blobBaseFee ?? 0n) + TX_GAS * gasPrice,
      sizeBytes: count * BigInt(MAX_BLOB_DATA_BYTES),
    };
  }
  const sizeBytes = BigInt(config.maxFrameBytes + VERSION_BYTES);
  const perByte = market.hasCalldataFloor === true ? FLOOR_GAS_PER_BYTE : CALLDATA_GAS_PER_BYTE;
  return { feeWei: (perByte * sizeBytes + TX_GAS) * gasPrice, sizeBytes };
}

/** Whether blobs cost no more for each byte than calldata does. */
export function areBlobsCheaper(blobs: DaCost, calldata: DaCost): boolean {
  return blobs.feeWei * calldata.sizeBytes <= calldata.feeWei * blobs.sizeBytes;
}
