import { expect, it } from "vitest";
import { RowMigration } from "./row-migration.ts";

it("rewrites rows step by step with pauses, goes on after an error, and ends", () => {
  let waiting: (() => void) | undefined;
  const delays: number[] = [];
  const told: string[] = [];
  let left = 150;
  let isFull = true;
  let ms = 0;
  const migration = new RowMigration({
    store: {
      migrateRows: (maxBlocks) => {
        if (left === 86 && isFull) {
          isFull = false;
          throw new Error("no room");
        }
        const blocks = Math.min(left, maxBlocks);
        left -= blocks;
        ms += 10;
        return { blocks, remaining: left };
      },
    },
    delay: (delayMs, action) => {
      delays.push(delayMs);
      waiting = action;
      return { cancel: () => (waiting = undefined) };
    },
    nowMs: () => ms,
    log: { info: (text: string) => told.push(text), error: (text: string) => told.push(text) } as never,
  });
  for (let steps = 0; waiting !== undefined && steps < 20; steps++) {
    const action = waiting;
    waiting = undefined;
    action();
  }
  expect(left).toBe(0);
  expect(delays).toEqual([5000, 40, 60_000, 40]);
  expect(told).toEqual([
    "rewriting rows of an earlier version",
    "rows not rewritten; tried again in a minute",
    "rows of an earlier version are rewritten",
  ]);
  migration.stop();
});
