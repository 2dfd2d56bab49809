import { fileURLToPath, pathToFileURL } from "node:url";
import { describe, expect, it, onTestFinished } from "vitest";
import { KzgThreads } from "./kzg-threads.ts";

const program = pathToFileURL(fileURLToPath(new URL("../test-programs/slow-worker.mjs", import.meta.url)));
function open(threads: number, maxWaiting = 100) {
  const pool = new KzgThreads(threads, maxWaiting, { precompute: false }, { program, execArgv: [] });
  onTestFinished(() => pool.close());
  const ask = async (first = 0): Promise<number> => {
    const answer = await pool.ask({ kind: "commitment", blob: Uint8Array.of(first) });
    return (answer as Uint8Array)[0]!;
  };
  return { pool, ask };
}

describe("KzgThreads", () => {
  it("starts another thread only when all others have a question, and no more than allowed", async () => {
    const { ask } = open(2);
    const first = await ask();
    expect(await ask()).toBe(first);
    expect(new Set(await Promise.all([ask(), ask(), ask(), ask(), ask()])).size).toBe(2);
  });

  it("refuses what is more than may wait, and takes questions again afterwards", async () => {
    const { pool, ask } = open(1, 2);
    const taken = [ask(), ask(), ask()];
    expect(pool.waiting).toBe(2);
    await expect(ask()).rejects.toThrow("2 blobs are waiting for a thread already");
    expect(new Set(await Promise.all(taken)).size).toBe(1);
    expect(await ask()).toBeGreaterThan(0);
  });

  it("says that a question which costs every thread its life cannot be answered, and answers others", async () => {
    const { ask } = open(1);
    await ask();
    await expect(ask(1)).rejects.toThrow(/^the thread that computes commitments was lost/);
    await expect.poll(() => ask().catch(() => 0)).toBeGreaterThan(0);
  });

  it("leaves no question open when it is closed", async () => {
    const { pool, ask } = open(1);
    const left = Promise.allSettled([ask(), ask()]);
    await pool.close();
    const closed = { status: "rejected", reason: { code: "kzg/closed" } };
    expect(await left).toMatchObject([closed, closed]);
    await expect(ask()).rejects.toThrow(expect.objectContaining({ code: "kzg/closed" }));
  });
});
