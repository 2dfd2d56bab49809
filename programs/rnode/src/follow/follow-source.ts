import type { SyncStatus } from "@rnode/node-clients";
import type { L1BlockRef, L2BlockRef, RollupConfig } from "@rnode/protocol";

/** A rollup node that derives, as this node asks it. Both methods reject if there is no usable answer. */
export interface FollowSource {
  /** its address, without credentials */
  readonly name: string;
  syncStatus(): Promise<SyncStatus>;
  rollupConfig(): Promise<RollupConfig>;
}

/** What a source says: finalized ≤ safe ≤ local safe, and how far it has read L1. */
export interface SourceReport {
  /** derived from L1 */
  readonly localSafe: L2BlockRef;
  /** derived, and the messages of other chains in it are checked */
  readonly safe: L2BlockRef;
  readonly finalized: L2BlockRef;
  /** everything on L1 before this block has been derived */
  readonly currentL1: L1BlockRef;
}

/** What became of a request to the source: label of a metric, as in op-node. */
export type SourceResult = "success" | "error_fetch_status" | "error_invalid_state" | "error_l1_lookup" | "error_l1_mismatch";

/** Why a source is not followed at the moment. */
export interface SourceTrouble {
  readonly result: Exclude<SourceResult, "success">;
  readonly reason: string;
}
