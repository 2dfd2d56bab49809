import { bytesToHex } from "@rnode/primitives";
import { forkFacts, OP_FORKS, type OpFork, type RollupConfig } from "@rnode/protocol";

export interface ConfigDifferences {
  /** other facts of the chain, or rules that are in effect: the source's safe blocks are not ours */
  readonly now: readonly string[];
  /** forks that are ahead: the source will be, or this node */
  readonly later: readonly string[];
}

/** What has to be the same in both rollup configurations, in words, as the file names it. */
const FACTS: readonly (readonly [string, (config: RollupConfig) => string | number | bigint])[] = [
  ["l2_chain_id", ({ l2ChainId }) => l2ChainId],
  ["l1_chain_id", ({ l1ChainId }) => l1ChainId],
  ["genesis.l1", ({ genesis: { l1 } }) => `${l1.number} ${l1.hash}`],
  ["genesis.l2", ({ genesis: { l2 } }) => `${l2.number} ${l2.hash}`],
  ["genesis.l2_time", ({ genesis }) => genesis.l2TimeSec],
  ["block_time", ({ blockTimeSec }) => blockTimeSec],
  ["seq_window_size", ({ seqWindowSize }) => seqWindowSize],
  ["channel_timeout", ({ channelTimeoutL1Blocks }) => channelTimeoutL1Blocks],
  ["chain_op_config", ({ chainOpConfig: c }) => `${c.eip1559Elasticity}/${c.eip1559Denominator}/${c.eip1559DenominatorCanyon}`],
  ["keep_karst_upgrade_gas", ({ keepKarstUpgradeGas = false }) => String(keepKarstUpgradeGas)],
  ["alt_da", ({ altDa }) => altDa?.daCommitmentType ?? "none"],
  ["batch_inbox_address", ({ batchInboxAddress }) => bytesToHex(batchInboxAddress)],
  ["deposit_contract_address", ({ depositContractAddress }) => bytesToHex(depositContractAddress)],
  ["l1_system_config_address", ({ l1SystemConfigAddress }) => bytesToHex(l1SystemConfigAddress)],
];

/** The differences between our rollup configuration and the source's, each as `key is X, ours is Y`. */
export function configDifferences(ours: RollupConfig, theirs: RollupConfig, nowSec: number): ConfigDifferences {
  const now = FACTS.flatMap(([key, read]) =>
    read(ours) === read(theirs) ? [] : [`${key} is ${read(theirs)}, ours is ${read(ours)}`],
  );
  const later: string[] = [];
  const timeOf = (config: RollupConfig, fork: OpFork): number | undefined => config.forkTimes[fork];
  for (const fork of OP_FORKS) {
    const [our, their] = [timeOf(ours, fork), timeOf(theirs, fork)];
    const isActiveIn = (time: number | undefined): boolean => time !== undefined && time <= nowSec;
    // At and before the genesis, all times mean the same.
    const isSame = our === their || [our, their].every((time) => time !== undefined && time <= ours.genesis.l2TimeSec);
    if (isSame) continue;
    const text = `${forkFacts(fork).rollupKey} is ${their ?? "none"}, ours is ${our ?? "none"}`;
    (isActiveIn(our) || isActiveIn(their) ? now : later).push(text);
  }
  return { now, later };
}
