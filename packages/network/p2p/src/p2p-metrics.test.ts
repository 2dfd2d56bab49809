import { createMetrics } from "@rnode/observe";
import { describe, expect, it } from "vitest";
import { createP2PMetrics } from "./p2p-metrics.ts";

describe("metrics of the network", () => {
  it("have the names and labels of docs/protocol/05-services.md#node-metrics", () => {
    const metrics = createMetrics({ prefix: "rnode_default_" });
    createP2PMetrics(metrics);
    const declared = metrics.descriptions.map(({ name, labels }) => `${name}{${labels.join(",")}}`);
    const upstream = [
      "p2p_peer_count{}",
      "p2p_stream_count{}",
      "peer_scores{type}",
      "p2p_gossip_events_total{type}",
      "p2p_bandwidth_bytes_total{direction}",
      "p2p_peer_unbans{}",
      "p2p_ip_unbans{}",
      "p2p_dials{allow}",
      "p2p_accepts{allow}",
      "p2p_req_duration_seconds{p2p_role,p2p_method,result_code}",
      "p2p_req_total{p2p_role,p2p_method,result_code}",
      "p2p_payload_by_number{p2p_role}",
      "p2p_payloads_quarantine_total{}",
    ];
    expect(declared).toEqual(expect.arrayContaining(upstream.map((name) => `rnode_default_${name}`)));
  });
});
