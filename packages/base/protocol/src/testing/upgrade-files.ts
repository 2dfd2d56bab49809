import type { OpFork } from "../forks/op-forks.ts";
import type { UpgradeArtifactSource } from "../params/upgrade-artifacts.ts";
import { upgradeFilesAfter } from "../rollup/upgrade-transactions.ts";

/** The names of the files that upgrades to `forks` need and `source` lacks. */
export function missingUpgradeFiles(
  forks: readonly OpFork[],
  source: UpgradeArtifactSource | undefined,
  lagoonPreliminary?: boolean,
): string[] {
  const forkTimes = Object.fromEntries(forks.map((fork) => [fork, 1]));
  return upgradeFilesAfter({ forkTimes, lagoonPreliminary }, 0).flatMap((artifact) =>
    source?.(artifact.hash, artifact) === undefined ? [artifact.file] : [],
  );
}
