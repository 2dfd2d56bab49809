import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openChainStore } from "./lmdb-chain-store.ts";

const PACKAGE = fileURLToPath(new URL("..", import.meta.url));
const ROUNDS = 4;
let folder: string;
const children: ChildProcess[] = [];

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "rnode-durability-"));
  // The child process runs the build.
  const built = spawnSync(join(PACKAGE, "../../../node_modules/.bin/tsc"), ["-b", PACKAGE], { encoding: "utf8" });
  if (built.error !== undefined) throw built.error;
});
afterAll(() => {
  for (const child of children) child.kill("SIGKILL");
});

/** Runs the program until it has committed `commits` blocks, and kills it `delayMs` later. @returns the lines it printed */
async function runAndKill(sync: string, seed: number, commits: number, delayMs: number): Promise<string[]> {
  const started = spawn(
    process.execPath,
    [join(PACKAGE, "test-programs/commit-loop.mjs"), join(folder, sync), sync, String(seed)],
    {
      stdio: ["ignore", "pipe", "pipe"],
    },
  );
  children.push(started);
  let output = "";
  let errors = "";
  let isKilled = false;
  started.stderr.on("data", (data: Buffer) => {
    errors += data.toString();
  });
  started.stdout.on("data", (data: Buffer) => {
    output += data.toString();
    if (isKilled || output.split("done").length <= commits) return;
    isKilled = true;
    setTimeout(() => started.kill("SIGKILL"), delayMs);
  });
  const [, signal] = (await once(started, "close")) as [number | null, string | null];
  expect({ signal, errors }).toEqual({ signal: "SIGKILL", errors: "" });
  return output.split("\n").filter((line) => line.length === "will 0x".length + 64); // the last line may be incomplete
}

describe("kill -9", () => {
  for (const sync of ["each", "interval"] as const)
    it(`loses no acknowledged commit and leaves no half of one, sync "${sync}"`, { tags: "long" }, async () => {
      let total = 0;
      for (let round = 0; round < ROUNDS; round++) {
        const lines = await runAndKill(sync, round, 10 + 17 * round, (round * 7919) % 23);
        const store = openChainStore(join(folder, sync));
        try {
          const acknowledged = lines.findLast((line) => line.startsWith("done"))!.slice(5);
          const begun = lines.at(-1)!.slice(5);
          const head = store.head()!;
          expect([acknowledged, begun]).toContain(head.hash);
          expect(store.verifyState().problems).toEqual([]);
          const middle = Math.floor(head.number / 2);
          expect(store.stateAt(middle)).toBeDefined();
          total += lines.length;
        } finally {
          await store.close();
        }
      }
      expect(total).toBeGreaterThan(ROUNDS * 20);
    });
});
