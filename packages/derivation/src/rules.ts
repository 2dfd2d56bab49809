import { isOpForkActive, type RollupConfig } from "@rnode/protocol";

/**
 * What depends on the fork while the data of one L1 block is read. Forks are judged by that block's time.
 * Spec: docs/protocol/02-derivation.md#parameters
 */
export interface DerivationRules {
  /** any ready channel of the bank may be read, not only the first */
  readonly readsChannelsOutOfOrder: boolean;
  readonly allowsSpanBatches: boolean;
  readonly readsBlobs: boolean;
  readonly allowsBrotli: boolean;
  /** strict frame order, one channel at a time, forward invalidation */
  readonly isHolocene: boolean;
  readonly maxRlpBytesPerChannel: number;
  readonly maxChannelBankBytes: number;
  readonly channelTimeoutL1Blocks: number;
}

const GRANITE_CHANNEL_TIMEOUT_L1_BLOCKS = 50;
const FJORD_MAX_SEQUENCER_DRIFT_SEC = 1800;

/** The one place that says what each fork changes in derivation. */
export function derivationRules(config: RollupConfig, l1TimestampSec: number): DerivationRules {
  const has = (fork: "canyon" | "delta" | "ecotone" | "fjord" | "granite" | "holocene") =>
    isOpForkActive(config.forkTimes, fork, l1TimestampSec);
  return {
    readsChannelsOutOfOrder: has("canyon"),
    allowsSpanBatches: has("delta"),
    readsBlobs: has("ecotone"),
    allowsBrotli: has("fjord"),
    isHolocene: has("holocene"),
    maxRlpBytesPerChannel: has("fjord") ? 100_000_000 : 10_000_000,
    maxChannelBankBytes: has("fjord") ? 1_000_000_000 : 100_000_000,
    channelTimeoutL1Blocks: has("granite") ? GRANITE_CHANNEL_TIMEOUT_L1_BLOCKS : config.channelTimeoutL1Blocks,
  };
}

/** How much newer than its L1 origin a block with transactions may be; judged by the time of that origin. */
export function maxSequencerDriftSec(config: RollupConfig, l1OriginTimestampSec: number): number {
  return isOpForkActive(config.forkTimes, "fjord", l1OriginTimestampSec)
    ? FJORD_MAX_SEQUENCER_DRIFT_SEC
    : config.maxSequencerDriftSec;
}
