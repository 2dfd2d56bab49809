import type { UpgradeFiles } from "@rnode/networks";
import type { L2Blocks } from "@rnode/node-clients";
import type { Logger } from "@rnode/observe";
import {
  networkByChainId,
  type RollupConfig,
  type UpgradeArtifact,
  type UpgradeArtifactSource,
  upgradeFilesAfter,
  withoutPreliminary,
} from "@rnode/protocol";

/** The files of upgrades after a time. A public network never uses preliminary ones. */
function filesAfter(rollup: RollupConfig, l2TimestampSec: number): UpgradeArtifact[] {
  const isPublic = networkByChainId(rollup.l2ChainId) !== undefined;
  return upgradeFilesAfter(rollup, l2TimestampSec).filter(({ isPreliminary }) => !(isPublic && isPreliminary));
}

/** Fetches the files of upgrades that are ahead. Derivation starts from the safe block: upgrades of its time and before are never derived again. */
export async function wantUpgrades(
  upgrades: Pick<UpgradeFiles, "want"> | undefined,
  rollup: RollupConfig,
  l2: Pick<L2Blocks, "blockByLabel">,
): Promise<void> {
  if (upgrades === undefined || filesAfter(rollup, rollup.genesis.l2TimeSec).length === 0) return;
  const safe = (await l2.blockByLabel("safe")) ?? (await l2.blockByLabel("finalized"));
  upgrades.want(filesAfter(rollup, safe?.ref.timestamp ?? rollup.genesis.l2TimeSec));
}

export interface UsesOfUpgrades {
  readonly derives: boolean;
  readonly sequences: boolean;
}

/** The source of upgrade files for this chain. If a public network schedules an upgrade whose contracts are not known yet, a warning says so. */
export function upgradeSourceFor(
  rollup: RollupConfig,
  source: UpgradeArtifactSource | undefined,
  uses: UsesOfUpgrades,
  log: Pick<Logger, "warn">,
): UpgradeArtifactSource | undefined {
  const network = networkByChainId(rollup.l2ChainId)?.name;
  if (network === undefined) return source;
  const preliminary = upgradeFilesAfter(rollup, rollup.genesis.l2TimeSec).find(({ isPreliminary }) => isPreliminary);
  if (preliminary !== undefined) {
    const remedy = remedyFor(uses);
    log.warn("the next fork of this network deploys contracts that this version does not know", { network, remedy });
  }
  return withoutPreliminary(network, source);
}

function remedyFor({ derives, sequences }: UsesOfUpgrades): string {
  if (derives) return "update rnode before that fork: the safe head will stop at its first block";
  if (sequences) return "update rnode before that fork: this sequencer cannot build its first block";
  return "update rnode before it derives blocks of that fork; in light mode it follows its source past it";
}
