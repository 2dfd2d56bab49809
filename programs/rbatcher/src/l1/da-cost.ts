import type { L1FeeMarket } from "@rnode/l1";
import { BLOB_BYTES, l1DataGas, MAX_BLOB_DATA_BYTES } from "@rnode/protocol";
import type { ChannelConfig } from "../channels/channel-config.ts";

const VERSION_BYTES = 1;
const NO_DATA = new Uint8Array(0);

/** Cost and capacity of a full transaction. */
export interface DaCost {
  readonly feeWei: bigint;
  readonly sizeBytes: bigint;
}

/**
 * The cost of a full transaction by the rules of the newest L1 block: every byte counts as one that is not zero. Spec: docs/protocol/05-services.md#channel-building
 *
 * @param tipWei the priority fee that will be offered
 */
export function fullTransactionCost(config: ChannelConfig, market: L1FeeMarket, tipWei: bigint): DaCost {
  const gasPrice = market.baseFee + tipWei;
  const gasFor = (data: Uint8Array): bigint => l1DataGas(market.dataPricing, data);
  if (config.carrier === "blobs") {
    const count = BigInt(config.targetFrames);
    return {
      feeWei: count * BigInt(BLOB_BYTES) * (market.blobBaseFee ?? 0n) + gasFor(NO_DATA) * gasPrice,
      sizeBytes: count * BigInt(MAX_BLOB_DATA_BYTES),
    };
  }
  const full = new Uint8Array(config.maxFrameBytes + VERSION_BYTES).fill(0xff);
  return { feeWei: gasFor(full) * gasPrice, sizeBytes: BigInt(full.length) };
}

/** Whether blobs cost no more for each byte than calldata does. */
export function areBlobsCheaper(blobs: DaCost, calldata: DaCost): boolean {
  return blobs.feeWei * calldata.sizeBytes <= calldata.feeWei * blobs.sizeBytes;
}
