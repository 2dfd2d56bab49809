import { parseOptions } from "@rnode/options";
import { describeMigration, type ForeignFact } from "@rnode/options/testing";
import { describe, expect, it } from "vitest";
import { opGeth, opReth } from "./foreign-options.ts";
import { clientTable } from "./options.ts";
import { GETH_FLAGS } from "./testing/geth-flags.ts";
import { OP_RETH_FLAGS } from "./testing/op-reth-flags.ts";

const BASE = ["--chain=op-sepolia", "--datadir=/tmp/x"];
const besideOf = (facts: readonly ForeignFact[]): Record<string, readonly string[]> =>
  Object.fromEntries(
    facts.map(({ flag }) => {
      const [group] = flag.split(".");
      if (flag.startsWith("dev.")) return [flag, ["--dev"]];
      return [
        flag,
        group === "http" || group === "ws"
          ? [`--${group}`]
          : group === "metrics" || group === "pprof"
            ? [`--${group}.enabled`]
            : [],
      ];
    }),
  );

describeMigration(
  {
    table: { ...clientTable, foreign: [opReth] },
    program: opReth,
    facts: OP_RETH_FLAGS,
    base: BASE,
    beside: besideOf(OP_RETH_FLAGS),
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
    "websocket-url",
    "subblocks-url",
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
    beside: besideOf(GETH_FLAGS),
  },
  new URL("../../../docs/migrate/op-geth.md", import.meta.url),
);

describe("rengine, whichever of both an operator comes from", () => {
  it.each([...OP_RETH_FLAGS, ...GETH_FLAGS].map((fact) => [fact.flag, fact] as const))("answers --%s", (flag, { sample }) => {
    const argument = sample === undefined ? `--${flag}` : `--${flag}=${sample}`;
    const parsed = parseOptions(clientTable, [...BASE, argument], {});
    if (parsed.kind === "error") expect(parsed.faults.filter((fault) => fault.includes("lists all"))).toEqual([]);
  });

  it.each([
    [["-vvv"], "unknown option --vvv, an option of op-reth: use --log.level=debug (-v shows the version)"],
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
