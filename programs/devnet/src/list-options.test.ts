import { join } from "node:path";
import { type OptionTable, parseOptions, resolveOptions } from "@rnode/program";
import { describe, expect, it } from "vitest";

const ROOT = join(import.meta.dirname, "../../..");
const TABLES: readonly [folder: string, module: string, name: string][] = [
  ["programs/rnode", "options", "rnodeOptions"],
  ["programs/rengine", "options", "clientTable"],
  ["programs/rbatcher", "options", "rbatcherOptions"],
  ["programs/rproposer", "options", "rproposerOptions"],
  ["programs/rconductor", "options", "rconductorOptions"],
  ["programs/rda-server", "main", "daServerOptions"],
  ["programs/devnet", "options", "devnetOptionTable"],
];
const KEY =
  "ca2774c3c401325850b2477fd7d0f27911efbf79b1e8b335066516e2bd8c4c9e0ba9696a94b1cb030a88eac582305ff55e905e64fb77fe0edcd70a4e5296d3ec";
/** one word for each kind of list */
const WORDS = [
  "http://127.0.0.1:1",
  "ws://127.0.0.1:1",
  "eth",
  `0x${"12".repeat(20)}`,
  `enode://${KEY}@34.65.175.185:30305`,
  "10.0.0.0/8",
  "/ip4/1.2.3.4/tcp/1/p2p/16Uiu2HAmEWQnHq2jLKJypwVnVoQeFCULuyop6atvq2eWjYSUjzNi",
  "key=value",
];
const BAD = "?bad";

describe("lists among the options of all programs", async () => {
  const lists = (
    await Promise.all(
      TABLES.map(async ([folder, module, name]) => {
        const table = ((await import(join(ROOT, folder, "src", `${module}.ts`))) as Record<string, OptionTable>)[name]!;
        return resolveOptions(table).flatMap(({ flag, declaration: { parse, secret } }) =>
          parse.item === undefined || parse.item.parse(BAD) !== undefined ? [] : [{ table, flag, item: parse.item, secret }],
        );
      }),
    )
  ).flat();

  it("are known", () => {
    expect(lists.length).toBeGreaterThan(10);
  });

  it.each(lists.map((list) => [list.table.program, list.flag, list] as const))(
    "%s --%s: a bad word is named alone",
    (_, flag, { table, item, secret }) => {
      const word = WORDS.find((each) => item.parse(each) !== undefined);
      expect(word).toBeDefined();
      const faultsOf = (value: string): readonly string[] => {
        const parsed = parseOptions(table, [`--${flag}=${value}`], {});
        return parsed.kind === "error"
          ? parsed.faults.filter((fault) => fault.startsWith(`--${flag}: `) && fault.includes(" not valid, "))
          : [];
      };
      expect(faultsOf(`${word},${word}`)).toEqual([]);
      const [fault] = faultsOf(`${word}, ${BAD},${word}`);
      if (secret) expect(fault).toBe(`--${flag}: the value is not valid, expected a comma-separated list, each ${item.expects}`);
      else expect(fault).toBe(`--${flag}: "${BAD}" is not valid, expected ${item.expects}`);
    },
  );
});
