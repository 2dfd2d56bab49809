import { encodeChannelBatch } from "../batches/batch.ts";
import { SpanBatchBuilder, type SpanBatchInput } from "../batches/span-batch.ts";
import type { RollupConfig } from "../chains/rollup-config.ts";

type SingularInput = Omit<SpanBatchInput, "sequenceNumber" | "parentHash"> & Partial<Pick<SpanBatchInput, "parentHash">>;

/** A block as an element of a channel. @param block default of its parent's hash: zeros */
export const singularBatch = ({ parentHash, epochNumber, epochHash, timestampSec, transactions }: SingularInput): Uint8Array =>
  encodeChannelBatch({
    kind: "singular",
    parentHash: parentHash ?? new Uint8Array(32),
    epochNumber: BigInt(epochNumber),
    epochHash,
    timestamp: BigInt(timestampSec),
    transactions,
  });

/** Blocks that follow each other as one element of a channel. */
export function spanBatch({ genesis, blockTimeSec, l2ChainId }: RollupConfig, blocks: readonly SpanBatchInput[]): Uint8Array {
  const builder = new SpanBatchBuilder({ genesisTimeSec: genesis.l2TimeSec, blockTimeSec, chainId: l2ChainId });
  for (const block of blocks) builder.add(block);
  return encodeChannelBatch(builder.build());
}
