import type { MetricFactory } from "@rnode/observe";
import type { FetchedRows } from "@rnode/sync";

interface StateSyncGauges {
  /** `undefined`: no state is being fetched */
  readonly fetched: () => FetchedRows | undefined;
  readonly pivotBlock: () => number;
  readonly diskBytes: () => number;
}

/** Progress of a state sync. */
export function createStateSyncMetrics(m: MetricFactory, { fetched, pivotBlock, diskBytes }: StateSyncGauges) {
  m.gaugeOf("snapsync_accounts", "Accounts of the state that is being fetched from peers, so far.", () => fetched()?.accounts ?? 0);
  m.gaugeOf("snapsync_slots", "Storage slots of that state, so far.", () => fetched()?.slots ?? 0);
  m.gaugeOf("snapsync_fetched_ratio", "Part of the accounts' keys that is fetched, from 0 to 1.", () => fetched()?.share ?? 0);
  m.gaugeOf(
    "snapsync_healed_nodes",
    "Trie nodes that were fetched to heal the rows of several blocks.",
    () => fetched()?.healedNodes ?? 0,
  );
  m.gaugeOf("snapsync_pivot_block", "Number of the block whose state is being fetched; 0: there is none.", pivotBlock);
  m.gaugeOf("snapsync_disk_bytes", "Estimated size of the rows and the new database; 0: it is not known yet.", diskBytes);
  return { failures: m.counter("snapsync_failures_total", "Attempts to fetch a state that failed.") };
}
