import { describeMigration } from "@rnode/options/testing";
import { opNode } from "./foreign-options.ts";
import { rnodeOptions } from "./options.ts";
import { OP_NODE_FLAGS } from "./testing/op-node-flags.ts";

const L1_BEACON = ["--l1.beacon=http://127.0.0.1:1"];
const SEQUENCER = ["--sequencer.enabled"];
const CONDUCTOR = [...SEQUENCER, "--conductor.enabled"];
const SIGNER = ["--signer.endpoint=https://127.0.0.1:1", `--signer.address=0x${"12".repeat(20)}`];
const ALT_DA = ["--altda.enabled", "--altda.da-server=http://127.0.0.1:1"];
const METRICS = ["--metrics.enabled"];
const PPROF = ["--pprof.enabled"];
const OURS_ONLY = "op-node ignores it";

describeMigration(
  {
    table: rnodeOptions,
    program: opNode,
    facts: OP_NODE_FLAGS,
    base: ["--l2=http://127.0.0.1:1"],
    beside: {
      ...Object.fromEntries(["header", "fallbacks", "archiver"].map((name) => [`l1.beacon-${name}`, L1_BEACON] as const)),
      "l1.beacon.fetch-all-sidecars": L1_BEACON,
      "l1.beacon.slot-duration-override": L1_BEACON,
      ...Object.fromEntries(
        ["stopped", "max-safe-lag", "l1-confs", "recover", "sealing-duration"].map(
          (name) => [`sequencer.${name}`, SEQUENCER] as const,
        ),
      ),
      "rpc.admin-state": SEQUENCER,
      "conductor.enabled": SEQUENCER,
      "conductor.rpc": CONDUCTOR,
      "conductor.rpc-timeout": CONDUCTOR,
      ...Object.fromEntries(
        ["endpoint", "address", "header", "tls.enabled", "tls.ca", "tls.cert", "tls.key"].map(
          (name) => [`signer.${name}`, SIGNER] as const,
        ),
      ),
      ...Object.fromEntries(OP_NODE_FLAGS.flatMap(({ flag }) => (flag.startsWith("altda.") ? [[flag, ALT_DA] as const] : []))),
      "metrics.addr": METRICS,
      "metrics.port": METRICS,
      "pprof.addr": PPROF,
      "pprof.port": PPROF,
      "pprof.path": ["--pprof.type=heap"],
      "p2p.sync.onlyreqtostatic": ["--p2p.static=/ip4/1.2.3.4/tcp/1/p2p/x"],
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
  ["override.interop"],
);
