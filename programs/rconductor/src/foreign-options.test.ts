import { describeMigration } from "@rnode/program/testing";
import { opConductor } from "./foreign-options.ts";
import { rconductorOptions } from "./options.ts";
import { OP_CONDUCTOR_FLAGS } from "./testing/op-conductor-flags.ts";

describeMigration(
  {
    table: rconductorOptions,
    program: opConductor,
    facts: OP_CONDUCTOR_FLAGS,
    base: ["--etcd=http://127.0.0.1:1", "--rollup-rpc=http://127.0.0.1:1", "--execution-rpc=http://127.0.0.1:1"],
    notes: Object.fromEntries(
      ["interval", "unsafe-interval", "min-peer-count", "execution-p2p-min-peer-count"].map((name) => [
        `healthcheck.${name}`,
        "required in op-conductor",
      ]),
    ),
  },
  new URL("../../../docs/migrate/op-conductor.md", import.meta.url),
);
