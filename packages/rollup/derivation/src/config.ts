import type { Hex } from "@rnode/primitives";
import type { BlobScheduleEntry, RollupConfig, UpgradeArtifact } from "@rnode/protocol";

/** The configuration of derivation. */
export interface DerivationConfig {
  readonly rollup: RollupConfig;
  /** blob base fee update fractions of the L1 chain by activation time, ascending; empty before Cancun */
  readonly l1BlobSchedule: readonly BlobScheduleEntry[];
  /** finds network-upgrade artifacts by hash; only needed for chains with such an upgrade */
  readonly upgradeArtifact?: ((hash: Hex, artifact: UpgradeArtifact) => Uint8Array | undefined) | undefined;
  /** whether the dependency set has chains besides this one; default false */
  readonly isInCluster?: boolean | undefined;
  /**
   * With Holocene: compare the part of a span batch that overlaps the safe chain with the safe blocks, and drop the span if they
   * differ (docs/protocol/02-derivation.md#span-batch-checks, rule 15). Before Holocene they are always compared. Default true.
   */
  readonly checkSpanOverlapInStrictOrder?: boolean | undefined;
}
