import type { SyncState } from "@rnode/eth-api";
import type { SyncStatus } from "@rnode/sync";

/** What methods show of a sync. */
export const syncStateOf = (status: SyncStatus | undefined): SyncState | undefined =>
  status && {
    startingBlock: status.startingBlock,
    currentBlock: status.currentBlock,
    highestBlock: status.highestBlock,
    headers: status.stage === "blocks" ? status.highestBlock : status.currentBlock,
    bodies: status.downloadedBlock,
    state: status.state,
  };
