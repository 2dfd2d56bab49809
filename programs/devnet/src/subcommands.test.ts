import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { runMain } from "./testing/run-main.ts";

const PACKAGES = join(import.meta.dirname, "../..");
/** each program that a package installs, with the module of its `main` */
const PROGRAMS = readdirSync(PACKAGES).flatMap((folder) => {
  const { bin = {} } = JSON.parse(readFileSync(join(PACKAGES, folder, "package.json"), "utf8")) as { bin?: Record<string, string> };
  return Object.keys(bin).map((name) => [name, join(PACKAGES, folder, "src/main.ts")] as const);
});

/** The subcommands that `--help` lists, each with its description. */
const listed = (help: string): [name: string, summary: string][] =>
  [
    ...(help.split("Subcommands, each with --help:\n")[1] ?? "")
      .split("\n\n", 1)[0]!
      .matchAll(/^ {2}(\S+(?: \S+)*?) {2,}(\S.*)$/gm),
  ].map(([, name, summary]) => [name!, summary!]);

describe("the programs", () => {
  it("are seven", () => {
    expect(PROGRAMS.map(([name]) => name).sort()).toEqual([
      "devnet",
      "rbatcher",
      "rconductor",
      "rda-server",
      "rengine",
      "rnode",
      "rproposer",
    ]);
  });

  it.each(PROGRAMS)("%s --help names its subcommands, and each has help of its own", async (_, module) => {
    const help = await runMain(module, ["--help"]);
    expect(help).toMatchObject({ code: 0, err: "" });
    const commands = listed(help.out);
    expect(commands.map(([command]) => command)).toContain("config print");
    for (const [command, summary] of commands) {
      const own = await runMain(module, [...command.split(" "), "--help"]);
      expect({ command, ...own }).toMatchObject({ code: 0, err: "" });
      expect(own.out).toMatch(/^Usage: /m);
      expect(summary).toMatch(/^[A-Z].*\.$/);
    }
  });

  it.each(PROGRAMS)("%s names its subcommands where it is given another", async (name, module) => {
    const commands = listed((await runMain(module, ["--help"])).out).map(([command]) => command);
    const { code, err } = await runMain(module, ["frobnicate"]);
    expect(code).toBe(1);
    expect(err.split("\n")[0]).toBe(
      `${name}: unexpected argument "frobnicate": expected an option, or a subcommand (${commands.join(", ")})`,
    );
  });
});
