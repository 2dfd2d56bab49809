import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseOptions } from "@rnode/program";
import { expect, it } from "vitest";
import { devnetOptionTable } from "./options.ts";

const PROGRAMS = ["rengine", "rnode", "rbatcher", "rproposer", "rconductor"];

/** The default of an option, from the page of the program. */
function defaultOf(program: string, option: string): number | undefined {
  const page = readFileSync(join(import.meta.dirname, "../..", program, "OPTIONS.md"), "utf8");
  const row = page.split("\n").find((line) => line.startsWith(`| \`--${option}\``));
  return row === undefined ? undefined : Number(row.split("|")[4]!.trim());
}

function devnetPprofPort(): number {
  const parsed = parseOptions(devnetOptionTable, [], {});
  if (parsed.kind !== "options") throw new Error(`the devnet's defaults are ${parsed.kind}`);
  return parsed.options.pprof.port;
}

it.each(["metrics.port", "pprof.port", "dashboard.port"])("programs on one machine do not share --%s", (option) => {
  const ports = PROGRAMS.map((program) => defaultOf(program, option));
  for (const port of ports) expect(port).toBeGreaterThan(1024);
  if (option === "pprof.port") ports.push(devnetPprofPort());
  expect(new Set(ports).size).toBe(ports.length);
});
