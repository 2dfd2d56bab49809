import type { UpgradeFiles } from "@rnode/networks";
import type { L2Blocks } from "@rnode/node-clients";
import { type RollupConfig, upgradeFilesAfter } from "@rnode/protocol";

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
