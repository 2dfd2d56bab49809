import { describeMigration } from "@rnode/program/testing";
import { opNode } from "./foreign-options.ts";
import { rnodeOptions } from "./options.ts";
import { OP_NODE_FLAGS } from "./testing/op-node-flags.ts";

const SIGNER = ["--signer.endpoint=https://127.0.0.1:1", `--signer.address=0x${"12".repeat(20)}`];
const OURS_ONLY = "op-node ignores it";

describeMigration(
  {
    table: rnodeOptions,
    program: opNode,
    facts: OP_NODE_FLAGS,
    base: ["--l2=http://127.0.0.1:1"],
    beside: {
      "conductor.enabled": ["--sequencer.enabled"],
      "signer.endpoint": SIGNER,
      "signer.address": SIGNER,
      "altda.enabled": ["--altda.da-server=http://127.0.0.1:1"],
    },
    notes: {
      l1: "a list: the first endpoint is preferred, the others stand in",
      "l1.beacon": "a list is given with `--l1.beacon-fallbacks`",
      "l2.jwt-secret": "not required: a file in the working directory is the default",
      "p2p.sync.req-resp": `${OURS_ONLY} since v1.20.0; here peers are asked before the execution client is`,
      "p2p.sync.onlyreqtostatic": `${OURS_ONLY} since v1.19.1`,
      "snapshotlog.file": OURS_ONLY,
      "l1.trustrpc": "see above",
      network: "names in both forms",
    },
  },
  new URL("../../../docs/migrate/op-node.md", import.meta.url),
);
