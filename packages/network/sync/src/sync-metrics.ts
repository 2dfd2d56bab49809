import type { PeerFault } from "@rnode/devp2p";
import type { MetricFactory } from "@rnode/observe";

export type SyncMetrics = ReturnType<typeof createSyncMetrics>;

export interface SyncGauges {
  /** whether a head is being synced to */
  readonly active: () => boolean;
  readonly targetBlock: () => number;
  readonly remainingBlocks: () => number;
  /** bytes of downloaded blocks that wait for execution */
  readonly waitingBytes: () => number;
}

/** Outcomes of syncs with peers. */
export function createSyncMetrics(m: MetricFactory, gauges: SyncGauges) {
  m.gaugeOf("sync_active", "1 while the client syncs from peers to a head that it does not have.", () => (gauges.active() ? 1 : 0));
  m.gaugeOf("sync_target_block", "Number of the head that the client syncs to; 0: it does not.", gauges.targetBlock);
  m.gaugeOf("sync_remaining_blocks", "Blocks that are missing below that head.", gauges.remainingBlocks);
  m.gaugeOf("sync_waiting_bytes", "Size of downloaded blocks that wait for execution.", gauges.waitingBytes);
  return {
    headers: m.counter("sync_headers_total", "Headers that were verified back from a head to sync to."),
    blocks: m.counter("sync_blocks_total", "Blocks from peers that were executed and stored."),
    peerFaults: m.counter<{ fault: PeerFault }>("sync_peer_faults_total", "Peers that were at fault, by kind of fault.", ["fault"]),
  };
}
