import { describeMigration } from "@rnode/program/testing";
import { opBatcher } from "./foreign-options.ts";
import { rbatcherOptions } from "./options.ts";
import { OP_BATCHER_FLAGS } from "./testing/op-batcher-flags.ts";

const SIGNER = ["--signer.endpoint=https://127.0.0.1:1", `--signer.address=0x${"12".repeat(20)}`];

describeMigration(
  {
    table: rbatcherOptions,
    program: opBatcher,
    facts: OP_BATCHER_FLAGS,
    base: ["--l1-eth-rpc=http://127.0.0.1:1", "--l2-eth-rpc=http://127.0.0.1:1", "--rollup-rpc=http://127.0.0.1:1"],
    beside: {
      ...Object.fromEntries(
        OP_BATCHER_FLAGS.map(({ flag }) => [
          flag,
          [
            ...(flag.startsWith("signer.") ? SIGNER : [`--private-key=${"11".repeat(32)}`]),
            ...(flag === "altda.enabled" ? ["--altda.da-server=http://127.0.0.1:1"] : []),
          ],
        ]),
      ),
    },
  },
  new URL("../../../docs/migrate/op-batcher.md", import.meta.url),
  ["target-l1-tx-size-bytes", "plasma.enabled", "plasma.da-server", "plasma.da-service"],
);
