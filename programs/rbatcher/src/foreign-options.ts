import type { ForeignProgram } from "@rnode/program";

/** Options of op-batcher that are not rbatcher's under the same name. `docs/migrate/op-batcher.md` is made from it. */
export const opBatcher: ForeignProgram = {
  name: "op-batcher",
  envPrefix: "OP_BATCHER_",
  noEffect: [
    {
      text: "a transaction that L1's pool has forgotten is published again at each --txmgr.receipt-query-interval",
      flags: ["txmgr.rebroadcast-interval"],
    },
    {
      text: "a failed request is repeated every 2 s until --txmgr.not-in-mempool-timeout or --txmgr.send-timeout",
      flags: ["txmgr.retry-interval", "txmgr.max-retries"],
    },
    {
      text: "blob transactions pay the priority fee that L1 suggests",
      flags: ["txmgr.blob-tip-cap-percentile", "txmgr.blob-tip-cap-range"],
    },
  ],
  instead: [
    {
      text: "derive the key once (cast wallet private-key) and give it with --private-key-file",
      flags: ["mnemonic", "hd-path", "sequencer-hd-path"],
    },
    {
      text: "leave it out, blob transactions pay the priority fee that L1 suggests, within --txmgr.min-tip-cap and --txmgr.max-tip-cap",
      flags: ["txmgr.blob-tip-cap-dynamic"],
      switches: ["txmgr.blob-tip-cap-dynamic"],
    },
    { text: "use --target-num-frames and --max-l1-tx-size-bytes", flags: ["target-l1-tx-size-bytes"] },
    {
      text: "use the option of the same name that begins with altda",
      flags: ["plasma.enabled", "plasma.da-server", "plasma.da-service"],
    },
  ],
  variables: {
    TXMGR_FEE_LIMIT_MULTIPLIER: "fee-limit-multiplier",
    TXMGR_TX_SEND_TIMEOUT: "txmgr.send-timeout",
    TXMGR_TX_NOT_IN_MEMPOOL_TIMEOUT: "txmgr.not-in-mempool-timeout",
  },
};
