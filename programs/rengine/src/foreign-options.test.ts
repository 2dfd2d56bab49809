import { parseOptions } from "@rnode/program";
import { describeMigration } from "@rnode/program/testing";
import { describe, expect, it } from "vitest";
import { subcommands } from "./commands/subcommands.ts";
import { opGeth, opReth } from "./foreign-options.ts";
import { clientTable } from "./options.ts";
import { GETH_FLAGS } from "./testing/geth-flags.ts";
import { OP_RETH_FLAGS } from "./testing/op-reth-flags.ts";

const BASE = ["--chain=op-sepolia", "--datadir=/tmp/x"];
describeMigration(
  {
    table: { ...clientTable, foreign: [opReth] },
    program: opReth,
    facts: OP_RETH_FLAGS,
    base: BASE,
    notes: { "txpool.lifetime": "a duration: `3h` for 10800" },
  },
  new URL("../../../docs/migrate/op-reth.md", import.meta.url),
  [
    "d",
    "q",
    "vv",
    "vvv",
    "vvvv",
    "vvvvv",
    "subblocks-consensus",
    "proofs-history.backfill-batch-size",
    "proofs-history.use-snapshot",
  ],
);

describeMigration(
  {
    table: { ...clientTable, foreign: [opGeth] },
    program: opGeth,
    facts: GETH_FLAGS,
    base: BASE,
    notes: { snapshot: "Geth's switch has no effect; a URL says where an empty data folder gets its state from" },
  },
  new URL("../../../docs/migrate/op-geth.md", import.meta.url),
);

describe("subcommands of Geth and Reth", () => {
  const named = [opReth, opGeth].flatMap(({ name, commands = [] }) =>
    commands.flatMap(({ text, names }) => names.map((command) => [command, name, text] as const)),
  );
  const table = { ...clientTable, subcommands: Object.keys(subcommands) };

  it.each(named)("%s of %s is answered", (command, program, text) => {
    expect(Object.keys(subcommands)).not.toContain(command);
    const parsed = parseOptions(table, [command, ...BASE], {});
    expect(parsed).toMatchObject({ faults: [`unexpected argument "${command}", a subcommand of ${program}: ${text}`] });
  });

  it("that nobody has, or that comes late, is told what there is", () => {
    const list = "init, import, import-state, export, stream, stateless, statetest, enginetest, snapshot, db";
    expect(parseOptions(table, [...BASE, "frobnicate"], {})).toMatchObject({
      faults: [`unexpected argument "frobnicate": expected an option, or a subcommand (${list})`],
    });
    expect(parseOptions(table, [...BASE, "db", "stats"], {})).toMatchObject({
      faults: ['unexpected argument "db": a subcommand comes first, before all options: rengine db …'],
    });
  });
});

describe("rengine, whichever of both an operator comes from", () => {
  it.each([...OP_RETH_FLAGS, ...GETH_FLAGS].map((fact) => [fact.flag, fact] as const))("answers --%s", (flag, { sample }) => {
    const argument = sample === undefined ? `--${flag}` : `--${flag}=${sample}`;
    const parsed = parseOptions(clientTable, [...BASE, argument], {});
    if (parsed.kind === "error") expect(parsed.faults.filter((fault) => fault.includes("lists all"))).toEqual([]);
  });

  it.each([
    [["-vvv"], "unknown option -vvv, an option of op-reth: use --log.level=debug (-v shows the version)"],
    [["--nodiscover"], "unknown option --nodiscover, an option of op-geth: use --disable-discovery"],
    [["-d"], "unknown option -d, an option of op-reth: use --disable-discovery"],
    [
      ["--op-network", "op-mainnet"],
      "unknown option --op-network, an option of op-geth: use --chain=NAME or --chain=FILE, the name of a network or a genesis file",
    ],
    [["--gcmode=archive", "--maxpeers", "5"], undefined],
  ])("%j", (args, fault) => {
    const parsed = parseOptions(clientTable, [...BASE, ...args], {});
    const faults: readonly string[] = parsed.kind === "error" ? parsed.faults : [];
    expect(faults).not.toEqual([]);
    for (const line of faults) expect(line).toMatch(/^unknown option -\S+, an option of op-/);
    if (fault !== undefined) expect(faults).toEqual([fault]);
  });
});
