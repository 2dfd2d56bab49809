import { describeMigration } from "@rnode/program/testing";
import { opProposer } from "./foreign-options.ts";
import { rproposerOptions } from "./options.ts";
import { OP_PROPOSER_FLAGS } from "./testing/op-proposer-flags.ts";

const SIGNER = ["--signer.endpoint=https://127.0.0.1:1", `--signer.address=0x${"12".repeat(20)}`];

describeMigration(
  {
    table: rproposerOptions,
    program: opProposer,
    facts: OP_PROPOSER_FLAGS,
    base: ["--l1-eth-rpc=http://127.0.0.1:1", "--rollup-rpc=http://127.0.0.1:1"],
    beside: {
      ...Object.fromEntries(
        OP_PROPOSER_FLAGS.map(({ flag }) => [flag, flag.startsWith("signer.") ? SIGNER : [`--private-key=${"11".repeat(32)}`]]),
      ),
    },
  },
  new URL("../../../docs/migrate/op-proposer.md", import.meta.url),
);
