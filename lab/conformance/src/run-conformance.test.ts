import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { runConformance } from "./run-conformance.ts";

let folder: string;
let lines: string[];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "rnode-conformance-"));
  lines = [];
  vi.spyOn(console, "log").mockImplementation((line: string) => lines.push(line));
  vi.spyOn(console, "error").mockImplementation((line: string) => lines.push(line));
});
afterEach(() => {
  vi.restoreAllMocks();
});

const rlpTests = (cases: object): void => {
  mkdirSync(join(folder, "RLPTests"), { recursive: true });
  writeFileSync(join(folder, "RLPTests", "rlptest.json"), JSON.stringify(cases));
};

describe("runConformance", () => {
  it("fails on a folder that is missing", async () => {
    expect(await runConformance([join(folder, "none")], {})).toBe(1);
    expect(lines.at(-1)).toBe("0 passed, 1 failed");
  });

  it("fails on a folder without any suite", async () => {
    expect(await runConformance([folder], {})).toBe(1);
    expect(lines.at(-1)).toBe("0 passed, 1 failed");
  });

  it("fails on a suite without a case", async () => {
    rlpTests({});
    expect(await runConformance([folder], {})).toBe(1);
    expect(lines.at(-1)).toBe("0 passed, 1 failed");
  });

  it("counts what passes and names what fails", async () => {
    rlpTests({
      good: { in: "dog", out: "0x83646f67" },
      bad: { in: "cat", out: "0x83646f67" },
      loose: { in: "INVALID", out: "0x01" },
    });
    expect(await runConformance([folder], {})).toBe(1);
    expect(lines).toContain("  rlptest.json bad: encoded as 0x83636174");
    expect(lines).toContain("  rlptest.json loose: was accepted");
    expect(lines.at(-1)).toBe("1 passed, 2 failed");
  });

  it("takes the suite's own folder, and the folder from the environment", async () => {
    rlpTests({ good: { in: "dog", out: "0x83646f67" } });
    expect(await runConformance([join(folder, "RLPTests")], {})).toBe(0);
    expect(await runConformance([], { RNODE_VECTORS: folder })).toBe(0);
    expect(lines.at(-1)).toBe("1 passed, 0 failed");
  });

  it("fails on a suite that cannot run, and still counts", async () => {
    mkdirSync(join(folder, "tests"), { recursive: true });
    for (const file of ["chain.rlp", "genesis.json", "headfcu.json"]) writeFileSync(join(folder, "tests", file), "");
    expect(await runConformance([folder, "--suite", "rpc-R"], {})).toBe(1);
    expect(lines.join("\n")).toMatch(/only 1 cases in .*, expected at least 230/);
    expect(lines.at(-1)).toBe("0 passed, 2 failed");
  });

  it("fails on an archive that does not unpack", async () => {
    writeFileSync(join(folder, "ethereum-tests.tar.xz"), "no archive");
    expect(await runConformance([folder], {})).toBe(1);
    expect(lines[0]).toMatch(/ethereum-tests\.tar\.xz: tar failed/);
    expect(lines.at(-1)).toBe("0 passed, 1 failed");
  });
});
