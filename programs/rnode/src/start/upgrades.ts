import type { UpgradeFiles } from "@rnode/networks";
import type { L2Blocks } from "@rnode/node-clients";
import type { Logger } from "@rnode/observe";
import {
  networkByChainId,
  type RollupConfig,
  type UpgradeArtifactSource,
  upgradeFilesAfter,
  withoutPreliminary,
} from "@rnode/protocol";

/** Fetches the files of upgrades that are ahead. Derivation starts from the safe block: upgrades of its time and before are never derived again. */
export async function wantUpgrades(
  upgrades: Pick<UpgradeFiles, "want"> | undefined,
  rollup: RollupConfig,
  l2: Pick<L2Blocks, "blockByLabel">,
): Promise<void> {
  if (upgrades === undefined || upgradeFilesAfter(rollup, rollup.genesis.l2TimeSec).length === 0) return;
  const safe = (await l2.blockByLabel("safe")) ?? (await l2.blockByLabel("finalized"));
  upgrades.want(upgradeFilesAfter(rollup, safe?.ref.timestamp ?? rollup.genesis.l2TimeSec));
}

/** The source of upgrade files for this chain. If a public network schedules an upgrade whose contracts are not known yet, a warning says so. */
export function upgradeSourceFor(
  rollup: RollupConfig,
  source: UpgradeArtifactSource | undefined,
  log: Pick<Logger, "warn">,
): UpgradeArtifactSource | undefined {
  const network = networkByChainId(rollup.l2ChainId)?.name;
  if (network === undefined) return source;
  const preliminary = upgradeFilesAfter(rollup, rollup.genesis.l2TimeSec).find(({ isPreliminary }) => isPreliminary);
  if (preliminary !== undefined) {
    const remedy = "update rnode before that fork: the safe head will stop at its first block";
    log.warn("the next fork of this network deploys contracts that this version does not know", { network, remedy });
  }
  return withoutPreliminary(network, source);
}
