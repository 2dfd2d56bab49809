import type { ForeignProgram } from "@rnode/program";

/** Options of op-conductor that are not rconductor's under the same name. `docs/migrate/op-conductor.md` is made from it. */
export const opConductor: ForeignProgram = {
  name: "op-conductor",
  envPrefix: "OP_CONDUCTOR_",
  noEffect: [
    {
      text: "conductors do not talk to each other, they meet in etcd (--etcd)",
      flags: ["consensus.addr", "consensus.port", "consensus.advertised"],
    },
    {
      text: "nothing is stored here, and --etcd.compaction-interval bounds what etcd keeps",
      flags: ["raft.storage.dir", "raft.snapshot-interval", "raft.snapshot-threshold", "raft.trailing-logs"],
    },
    {
      text: "any member that is fit and has the newest blocks leads next",
      flags: ["raft.round-robin-leader-transfer"],
      switches: ["raft.round-robin-leader-transfer"],
    },
    {
      text: "the rollup node is asked for its configuration",
      flags: [
        "network",
        "rollup.config",
        "override.canyon",
        "override.delta",
        "override.ecotone",
        "override.fjord",
        "override.granite",
        "override.holocene",
        "override.isthmus",
        "override.jovian",
        "override.karst",
        "override.lagoon",
        "override.pectrablobschedule",
        "override.keep-karst-upgrade-gas",
      ],
      switches: ["override.keep-karst-upgrade-gas"],
    },
    {
      text: "the conductor's methods are always served",
      flags: ["rpc.enable-admin"],
      switches: ["rpc.enable-admin"],
    },
    {
      text: "rollup-boost is not checked",
      flags: [
        "rollup-boost.healthcheck-timeout",
        "healthcheck.rollup-boost-partial-healthiness-tolerance-limit",
        "healthcheck.rollup-boost-partial-healthiness-tolerance-interval-seconds",
        "websocket.server-port",
      ],
    },
  ],
  instead: [
    {
      text: "use --etcd.lease-ttl, after which a silent leader is replaced",
      flags: ["raft.heartbeat-timeout", "raft.lease-timeout"],
    },
    {
      text: "leave it out and watch rollup-boost by other means, rconductor does not check it and does not relay its stream",
      flags: ["rollup-boost.enabled", "rollup-boost.next-enabled", "rollup-boost.next-healthcheck-url", "rollupboost.ws-url"],
      switches: ["rollup-boost.enabled", "rollup-boost.next-enabled"],
    },
  ],
};
