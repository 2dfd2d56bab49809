import { describeMigration } from "@rnode/program/testing";
import { opProposer } from "./foreign-options.ts";
import { rproposerOptions } from "./options.ts";
import { OP_PROPOSER_FLAGS } from "./testing/op-proposer-flags.ts";

const KEY = `--private-key=${"11".repeat(32)}`;
const SIGNER = ["--signer.endpoint=https://127.0.0.1:1", `--signer.address=0x${"12".repeat(20)}`];
const ROLLUP = "--rollup-rpc=http://127.0.0.1:1";
const SUPER_GAMES = ["--superroot-rpcs=http://127.0.0.1:1", `--game-factory-address=0x${"12".repeat(20)}`, "--game-type=9"];

function besides(flag: string): readonly string[] {
  if (flag === "superroot-rpcs" || flag === "supernode-rpcs") return [KEY, ...SUPER_GAMES];
  return flag.startsWith("signer.") ? [ROLLUP, ...SIGNER] : [ROLLUP, KEY];
}

describeMigration(
  {
    table: rproposerOptions,
    program: opProposer,
    facts: OP_PROPOSER_FLAGS,
    base: ["--l1-eth-rpc=http://127.0.0.1:1"],
    beside: Object.fromEntries(OP_PROPOSER_FLAGS.map(({ flag }) => [flag, besides(flag)])),
  },
  new URL("../../../docs/migrate/op-proposer.md", import.meta.url),
);
