import type { ForeignProgram } from "@rnode/program";

/** Options of op-proposer that are not rproposer's under the same name. `docs/migrate/op-proposer.md` is made from it. */
export const opProposer: ForeignProgram = {
  name: "op-proposer",
  envPrefix: "OP_PROPOSER_",
  noEffect: [
    {
      text: "a transaction that L1's pool has forgotten is published again at each --txmgr.receipt-query-interval",
      flags: ["txmgr.rebroadcast-interval"],
    },
    {
      text: "a failed request is repeated every 2 s until --txmgr.not-in-mempool-timeout or --txmgr.send-timeout",
      flags: ["txmgr.retry-interval", "txmgr.max-retries"],
    },
  ],
  instead: [
    {
      text: "derive the key once (cast wallet private-key) and give it with --private-key-file",
      flags: ["mnemonic", "hd-path", "l2-output-hd-path"],
    },
  ],
  variables: {
    SUPERNODE_RPCS: "superroot-rpcs",
    TXMGR_FEE_LIMIT_MULTIPLIER: "fee-limit-multiplier",
    TXMGR_TX_SEND_TIMEOUT: "txmgr.send-timeout",
    TXMGR_TX_NOT_IN_MEMPOOL_TIMEOUT: "txmgr.not-in-mempool-timeout",
  },
};
