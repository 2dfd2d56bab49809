import type { CompressionAlgorithm, FullStrategy } from "@rnode/compression";
import {
  derivationFactsAt,
  FRAME_OVERHEAD_BYTES,
  lastDerivationFacts,
  MAX_BLOB_DATA_BYTES,
  type RollupConfig,
} from "@rnode/protocol";
import { BatcherError } from "../batcher-error.ts";

/** How channels are built; follows from the options and the rollup's parameters. Spec: docs/protocol/05-services.md#channel-building */
export interface ChannelConfig {
  /** what carries the frames: the calldata of a transaction each, or a blob each */
  readonly carrier: "calldata" | "blobs";
  /** a transaction carries this many frames; fewer only at the end of a channel */
  readonly framesPerTransaction: number;
  readonly batchType: "singular" | "span";
  readonly algorithm: CompressionAlgorithm;
  /** when a channel of singular batches is full */
  readonly strategy: FullStrategy;
  /** size of a frame including its overhead, without the version byte in front */
  readonly maxFrameBytes: number;
  readonly targetFrames: number;
  /** 0: a span batch contains all blocks of its channel */
  readonly maxBlocksPerSpanBatch: number;
  /** a channel is closed after this many L1 blocks, whatever it contains; 0: never */
  readonly maxChannelDuration: number;
  /** a channel is closed this many L1 blocks before a deadline */
  readonly subSafetyMargin: number;
  /** the most L1 blocks between the first and the last frame of a channel that derivation accepts */
  readonly channelTimeout: number;
  /** L1 blocks after its origin within which a block must be published */
  readonly seqWindowSize: number;
  readonly chain: {
    readonly genesisTimeSec: number;
    readonly blockTimeSec: number;
    readonly chainId: bigint;
    readonly forkTimes: RollupConfig["forkTimes"];
  };
}

/** The options that determine how channels are built, as given. */
export interface ChannelOptions {
  readonly batchType: 0 | 1;
  readonly compressionAlgo: "zlib" | "brotli" | "brotli-9" | "brotli-10" | "brotli-11";
  readonly compressor: "shadow" | "ratio" | "none";
  readonly approxComprRatio: number;
  readonly maxL1TxSizeBytes: number;
  readonly targetNumFrames: number;
  readonly maxBlocksPerSpanBatch: number;
  readonly maxChannelDuration: number;
  readonly subSafetyMargin: number;
  readonly dataAvailabilityType: "calldata" | "blobs" | "auto";
}

/** How channels are built for blobs, for calldata, or for both if the cheaper one is to be taken. */
export interface ChannelConfigs {
  readonly blobs?: ChannelConfig | undefined;
  readonly calldata?: ChannelConfig | undefined;
}

const VERSION_BYTES = 1;
/** EIP-7594: a transaction has at most this many blobs, however many a block may have */
const MAX_BLOBS_PER_TRANSACTION = 6;

/**
 * @param nowSec wall clock: features of forks that are not active yet cannot be used
 * @throws {BatcherError} batcher/bad-config, naming option, value and expectation
 */
export function channelConfigs(options: ChannelOptions, rollup: RollupConfig, nowSec: number): ChannelConfigs {
  const { dataAvailabilityType: type, targetNumFrames, maxL1TxSizeBytes } = options;
  const common = commonConfig(options, rollup, nowSec);
  const calldata: ChannelConfig = {
    ...common,
    carrier: "calldata",
    framesPerTransaction: 1,
    maxFrameBytes: maxL1TxSizeBytes - VERSION_BYTES,
    targetFrames: type === "auto" ? 1 : targetNumFrames, // those of --target-num-frames are blobs then
  };
  if (type === "calldata") return { calldata };
  const isScheduled = derivationFactsAt(rollup.forkTimes, nowSec).readsBlobs;
  if (!isScheduled) refuse("data-availability-type", type, "calldata, as Ecotone is not active and blobs would not be read");
  if (targetNumFrames > MAX_BLOBS_PER_TRANSACTION) {
    refuse(
      "target-num-frames",
      targetNumFrames,
      `at most ${MAX_BLOBS_PER_TRANSACTION}, the number of blobs that a transaction may have`,
    );
  }
  const blobs: ChannelConfig = {
    ...common,
    carrier: "blobs",
    framesPerTransaction: targetNumFrames,
    maxFrameBytes: MAX_BLOB_DATA_BYTES - VERSION_BYTES,
    targetFrames: targetNumFrames,
  };
  return type === "blobs" ? { blobs } : { blobs, calldata };
}

function refuse(option: string, value: string | number, expected: string): never {
  throw new BatcherError("batcher/bad-config", { option: `--${option}`, value, expected });
}

function commonConfig(
  options: ChannelOptions,
  rollup: RollupConfig,
  nowSec: number,
): Omit<ChannelConfig, "carrier" | "framesPerTransaction" | "maxFrameBytes" | "targetFrames"> {
  const { forkTimes } = rollup;
  if (options.maxL1TxSizeBytes - VERSION_BYTES <= FRAME_OVERHEAD_BYTES) {
    refuse("max-l1-tx-size-bytes", options.maxL1TxSizeBytes, `more than ${FRAME_OVERHEAD_BYTES + VERSION_BYTES} bytes`);
  }
  // The last of the scheduled forks decides, so that a fork during a channel's life does no harm.
  const channelTimeout = lastDerivationFacts(forkTimes).channelTimeoutL1Blocks ?? rollup.channelTimeoutL1Blocks;
  for (const [limit, value] of [
    ["the channel timeout", channelTimeout],
    ["the sequencing window", rollup.seqWindowSize],
  ] as const) {
    if (options.subSafetyMargin > value) {
      refuse("sub-safety-margin", options.subSafetyMargin, `at most ${limit} of ${value} L1 blocks`);
    }
  }
  const { allowsSpanBatches, allowsBrotli } = derivationFactsAt(forkTimes, nowSec);
  if (options.batchType === 1 && !allowsSpanBatches) {
    refuse("batch-type", 1, "0, as Delta is not active and span batches would be dropped");
  }
  const algorithm = options.compressionAlgo === "brotli" ? "brotli-10" : options.compressionAlgo;
  if (algorithm !== "zlib" && !allowsBrotli) {
    refuse("compression-algo", options.compressionAlgo, "zlib, as Fjord is not active and brotli channels would be dropped");
  }
  if (options.compressor === "none" && algorithm !== "zlib") {
    refuse("compressor", "none", "shadow or ratio, as only zlib channels can be stored without compression");
  }
  return {
    batchType: options.batchType === 1 ? "span" : "singular",
    algorithm,
    strategy:
      options.compressor === "ratio" ? { kind: "ratio", approxComprRatio: options.approxComprRatio } : { kind: options.compressor },
    maxBlocksPerSpanBatch: options.maxBlocksPerSpanBatch,
    maxChannelDuration: options.maxChannelDuration,
    subSafetyMargin: options.subSafetyMargin,
    channelTimeout,
    seqWindowSize: rollup.seqWindowSize,
    chain: {
      genesisTimeSec: rollup.genesis.l2TimeSec,
      blockTimeSec: rollup.blockTimeSec,
      chainId: rollup.l2ChainId,
      forkTimes,
    },
  };
}
