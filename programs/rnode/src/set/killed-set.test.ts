import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import type { KilledSetOutput } from "../testing/killed-set.ts";

// Kills a program that verifies a set, with SIGKILL. RNODE_SET_KILLS: how often in each stage.

const PACKAGE = fileURLToPath(new URL("../..", import.meta.url));
const KILLS = Number(process.env.RNODE_SET_KILLS ?? 16);

function run(folder: string, stage: "backfill" | "rewind", point?: number): KilledSetOutput | undefined {
  const args = [join(PACKAGE, "dist/testing/killed-set.js"), folder, stage, ...(point === undefined ? [] : [String(point)])];
  const { signal, stdout, stderr } = spawnSync(process.execPath, args, { encoding: "utf8", maxBuffer: 2 ** 26 });
  expect(stderr).toBe("");
  expect(signal).toBe(point === undefined ? null : "SIGKILL");
  return point === undefined ? (JSON.parse(stdout) as KilledSetOutput) : undefined;
}

it("kill -9 while messages are read, blocks denied, and verdicts taken back changes nothing of the end", {
  tags: "long",
  timeout: 900_000,
}, () => {
  // The child process runs the build.
  const built = spawnSync(join(PACKAGE, "../../node_modules/.bin/tsc"), ["-b", PACKAGE], { encoding: "utf8" });
  expect({ error: built.error, output: built.stdout }).toEqual({ error: undefined, output: "" });
  const root = mkdtempSync(join(tmpdir(), "killed-set-"));
  const undisturbed = join(root, "undisturbed");
  let before: string | undefined;
  for (const stage of ["backfill", "rewind"] as const) {
    const { points, found } = run(undisturbed, stage)!;
    const { denied, rounds } = JSON.parse(found) as { denied: { block: { number: number } }[]; rounds: object[] };
    // block 44 of A and block 28 of B depend on each other in another way in each stage
    expect(denied.length).toBeGreaterThan(0);
    expect(rounds.length).toBeGreaterThan(50);
    const first = Math.max(1, Math.floor(points / KILLS));
    for (let point = first; point <= points; point += first) {
      const folder = join(root, `${stage}-${point}`);
      if (before !== undefined) cpSync(before, folder, { recursive: true });
      run(folder, stage, point);
      expect({ stage, point, found: run(folder, stage)!.found }).toEqual({ stage, point, found });
    }
    before = join(root, `after-${stage}`);
    cpSync(undisturbed, before, { recursive: true });
  }
});
