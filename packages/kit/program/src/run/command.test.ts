import { describe, expect, it } from "vitest";
import { optionGroup, optionTable } from "../options/option-group.ts";
import { uint } from "../options/parsers.ts";
import { command, commandGroup } from "./command.ts";

const count = (word: string) =>
  command(
    {
      table: optionTable({
        program: `small ${word}`,
        summary: `Counts ${word}.`,
        envPrefix: "SMALL_",
        groups: { main: optionGroup("", { to: { parse: uint, default: 3, help: "How far." } }) },
      }),
      version: "v1",
    },
    ({ options }, io) => {
      io.out(`${word} ${options.main.to}`);
      return 0;
    },
  );
const group = commandGroup(
  { name: "small", summary: "Counts." },
  { up: async () => count("up"), downwards: async () => count("downwards") },
);

async function run(...args: string[]) {
  const out: string[] = [];
  const code = await group(args, {}, { out: (line) => out.push(line), err: (line) => out.push(line), progress: () => {} });
  return { code, out };
}

describe("a group of subcommands", () => {
  it("runs the one that is named", async () => {
    expect(await run("downwards", "--to=5")).toEqual({ code: 0, out: ["downwards 5"] });
  });

  it.each(["--help", "-h"])("lists them with %s", async (flag) => {
    const { code, out } = await run(flag);
    expect([code, out.join("\n").split("\n")]).toEqual([
      0,
      [
        "Usage: small up|downwards [options]",
        "",
        "  up         Counts up.",
        "  downwards  Counts downwards.",
        "",
        "small up --help lists the options of one.",
      ],
    ]);
  });

  it("says what it expects", async () => {
    await expect(run()).rejects.toThrow(/^expected "up" or "downwards"$/);
    await expect(run("sideways")).rejects.toThrow(/^expected "up" or "downwards", found "sideways"$/);
  });
});
