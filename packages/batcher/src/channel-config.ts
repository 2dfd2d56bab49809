import type { CompressionAlgorithm, FullStrategy } from "@rnode/compression";
import { derivationFactsAt, FRAME_OVERHEAD_BYTES, lastDerivationFacts, type RollupConfig } from "@rnode/protocol";
import { BatcherError } from "./batcher-error.ts";

/** How channels are built; follows from the options and the rollup's parameters. Spec: docs/protocol/05-services.md#channel-building */
export interface ChannelConfig {
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
}

const VERSION_BYTES = 1;

/**
 * @param nowSec wall clock: features of forks that are not active yet cannot be used
 * @throws {BatcherError} batcher/bad-config, naming option, value and expectation
 */
export function channelConfig(options: ChannelOptions, rollup: RollupConfig, nowSec: number): ChannelConfig {
  const { forkTimes } = rollup;
  const refuse = (option: string, value: string | number, expected: string): never => {
    throw new BatcherError("batcher/bad-config", { option: `--${option}`, value, expected });
  };
  const maxFrameBytes = options.maxL1TxSizeBytes - VERSION_BYTES;
  if (maxFrameBytes <= FRAME_OVERHEAD_BYTES) {
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
    maxFrameBytes,
    targetFrames: options.targetNumFrames,
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
