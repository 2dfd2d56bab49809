import type { MetricFactory } from "@rnode/observe";

export const createDevP2PMetrics = (m: MetricFactory) => ({
  peers: m.gauge<{ direction: "inbound" | "outbound" }>("devp2p_peers", "Connected peers.", ["direction"]),
  dials: m.counter<{ outcome: string }>("devp2p_dials_total", "Attempts to connect to a peer, by outcome.", ["outcome"]),
  inbound: m.counter<{ outcome: string }>("devp2p_inbound_total", "Connections that others made, by outcome.", ["outcome"]),
  ends: m.counter<{ reason: string }>("devp2p_disconnects_total", "Connections with peers that ended, by reason.", ["reason"]),
  bans: m.counter<{ reason: string }>("devp2p_bans_total", "Peers that were banned, by reason.", ["reason"]),
  served: m.counter<{ what: string }>(
    "devp2p_served_total",
    "Headers, bodies, receipts, transactions, accounts, slots, codes and trie nodes given to peers.",
    ["what"],
  ),
  servedBytes: m.counter("devp2p_served_bytes_total", "Bytes of answers to peers before compression."),
  transactions: m.counter<{ outcome: string }>("devp2p_transactions_total", "Transactions that peers sent, by outcome.", [
    "outcome",
  ]),
  discovered: m.counter<{ verdict: "peer" | "other" }>(
    "devp2p_records_total",
    "Node records that were found: of our chain, or of others.",
    ["verdict"],
  ),
  packetsDropped: m.counter<{ reason: string }>("devp2p_packets_dropped_total", "Discovery packets that were not looked at.", [
    "reason",
  ]),
});

export type DevP2PMetrics = ReturnType<typeof createDevP2PMetrics>;
