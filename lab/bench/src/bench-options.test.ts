import { expect, it } from "vitest";
import { BenchUsage, benchOptions } from "./bench-options.ts";

const OPTIONS = {
  blocks: { type: "string", default: "96", help: "blocks of each chain" },
  only: { type: "string", help: "chains whose name contains this" },
  json: { type: "boolean", help: "print JSON" },
} as const;
const read = (...args: string[]) => benchOptions("import", args, OPTIONS);
const usage = (...args: string[]): BenchUsage => {
  try {
    read(...args);
  } catch (error) {
    if (error instanceof BenchUsage) return error;
    throw error;
  }
  throw new Error("the options were taken");
};

it("gives the values, and the defaults of those that are not named", () => {
  expect(read("--only=swaps", "--json")).toMatchObject({ blocks: "96", only: "swaps", json: true });
  expect(read("--blocks", "5")).toMatchObject({ blocks: "5", json: false });
});

it("lists the options in words", () => {
  for (const flag of ["--help", "-h"]) {
    const { exitCode, message } = usage(flag, "--json");
    expect([exitCode, message.split("\n")]).toEqual([
      0,
      [
        "npm run bench -- import [options]",
        "  --blocks=…  blocks of each chain (default 96)",
        "  --only=…    chains whose name contains this",
        "  --json      print JSON",
      ],
    ]);
  }
});

it("says what is wrong in one line before the list", () => {
  const first = (...args: string[]) => [usage(...args).exitCode, usage(...args).message.split("\n")[0]];
  expect(first("--bloks=5")).toEqual([2, "import: Unknown option '--bloks'"]);
  expect(first("--blocks")).toEqual([2, "import: Option '--blocks <value>' argument missing"]);
  expect(first("swaps")[0]).toBe(2);
});
