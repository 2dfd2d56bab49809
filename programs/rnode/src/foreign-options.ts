import type { ForeignProgram } from "@rnode/program";

const HEARTBEAT = ["heartbeat.enabled", "heartbeat.moniker", "heartbeat.url"];

/** Options of op-node that are not rnode's under the same name. `docs/migrate/op-node.md` is made from it. */
export const opNode: ForeignProgram = {
  name: "op-node",
  envPrefix: "OP_NODE_",
  commands: [
    { text: "rnode makes its key at the first start (--p2p.priv.path), and opp2p_self answers with the peer id", names: ["p2p"] },
    { text: "use op-deployer, which makes the genesis and the rollup configuration", names: ["genesis"] },
    { text: "docs/METRICS.md lists the metrics", names: ["doc"] },
  ],
  noEffect: [
    {
      text: "op-node ignores it as well, leave it out",
      flags: [...HEARTBEAT, "beta.extra-networks", "syncmode.req-resp", "p2p.score.bands"],
      switches: ["heartbeat.enabled", "beta.extra-networks", "syncmode.req-resp"],
    },
    {
      text: "missing unsafe blocks come from peers, or from the execution client's own peers",
      flags: ["l2.backup-unsafe-sync-rpc", "l2.backup-unsafe-sync-rpc.trustrpc"],
    },
    {
      text: "the start finds its block by bisection, which takes a few requests",
      flags: ["l2.skip-sync-start-check"],
      switches: ["l2.skip-sync-start-check"],
    },
    {
      text: "no configuration is refused for a missing schedule; --override.pectrablobschedule sets it",
      flags: ["ignore-missing-pectra-blob-schedule"],
      switches: ["ignore-missing-pectra-blob-schedule"],
    },
    {
      text: "the mesh has the parameters of the specification: 8 peers, 6 to 12, 6 for gossip, no flood publishing",
      flags: [
        "p2p.gossip.mesh.d",
        "p2p.gossip.mesh.lo",
        "p2p.gossip.mesh.dhi",
        "p2p.gossip.mesh.dlazy",
        "p2p.gossip.mesh.floodpublish",
      ],
      switches: ["p2p.gossip.mesh.floodpublish"],
    },
    {
      text: "connections use noise and yamux, and the limits of time are fixed",
      flags: ["p2p.mux", "p2p.security", "p2p.timeout.negotiation", "p2p.timeout.accept", "p2p.timeout.dial"],
    },
    {
      text: "the node names itself, and libp2p pings where it has to",
      flags: ["p2p.useragent", "p2p.ping"],
      switches: ["p2p.ping"],
    },
  ],
  instead: [
    { text: "use --syncmode=execution-layer", flags: ["l2.engine-sync"], switches: ["l2.engine-sync"] },
    { text: "use --p2p.priv.path, the file with the key", flags: ["p2p.priv.raw"] },
    { text: "use --p2p.scoring", flags: ["p2p.scoring.peers", "p2p.scoring.topics"] },
  ],
  variables: {
    L1_BEACON_ARCHIVER: "l1.beacon-fallbacks",
    L2_ENGINE_SYNC_ENABLED: "l2.engine-sync",
    L2_BACKUP_UNSAFE_SYNC_RPC_TRUST_RPC: "l2.backup-unsafe-sync-rpc.trustrpc",
    P2P_AGENT: "p2p.useragent",
    P2P_GOSSIP_MESH_DLO: "p2p.gossip.mesh.lo",
    P2P_GOSSIP_FLOOD_PUBLISH: "p2p.gossip.mesh.floodpublish",
  },
};
