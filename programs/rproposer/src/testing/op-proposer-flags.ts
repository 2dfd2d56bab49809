import { type ForeignFact, OP_SERVICE_FLAGS, OP_SIGNER_FLAGS, OP_TXMGR_FLAGS } from "@rnode/program/testing";

/** The options of op-proposer, from the flag tables of the Go module v1.19.6. */
export const OP_PROPOSER_FLAGS: readonly ForeignFact[] = [
  { flag: "l1-eth-rpc", sample: "http://127.0.0.1:1" },
  { flag: "rollup-rpc", sample: "http://127.0.0.1:1" },
  { flag: "superroot-rpcs", env: ["SUPERROOT_RPCS", "SUPERNODE_RPCS"], sample: "http://127.0.0.1:1" },
  { flag: "supernode-rpcs", env: [], sample: "http://127.0.0.1:1" },
  { flag: "poll-interval", sample: "7s", fallback: "12s" },
  { flag: "allow-non-finalized" },
  { flag: "l2-output-hd-path", sample: "/tmp/x" },
  { flag: "game-factory-address", sample: "0x1212121212121212121212121212121212121212" },
  { flag: "proposal-interval", sample: "7s", fallback: "0s" },
  { flag: "game-type", sample: "1", fallback: "0" },
  { flag: "active-sequencer-check-duration", sample: "7s", fallback: "2m0s" },
  { flag: "wait-node-sync" },
  ...OP_SERVICE_FLAGS,
  ...OP_TXMGR_FLAGS,
  ...OP_SIGNER_FLAGS,
];
