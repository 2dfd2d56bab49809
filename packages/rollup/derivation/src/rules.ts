import { type DerivationFacts, derivationFactsAt, type RollupConfig } from "@rnode/protocol";

/** Fork-dependent rules for reading the data of one L1 block. Spec: docs/protocol/02-derivation.md#parameters */
export interface DerivationRules extends DerivationFacts {
  readonly channelTimeoutL1Blocks: number;
}

/** The rules at the time of the L1 block that is being read. */
export function derivationRules(config: RollupConfig, l1TimestampSec: number): DerivationRules {
  const facts = derivationFactsAt(config.forkTimes, l1TimestampSec);
  return { ...facts, channelTimeoutL1Blocks: facts.channelTimeoutL1Blocks ?? config.channelTimeoutL1Blocks };
}

/** How much newer than its L1 origin a block with transactions may be, by the rules at the time of that origin. */
export function maxSequencerDriftSec(config: RollupConfig, l1OriginTimestampSec: number): number {
  return derivationFactsAt(config.forkTimes, l1OriginTimestampSec).maxSequencerDriftSec ?? config.maxSequencerDriftSec;
}
