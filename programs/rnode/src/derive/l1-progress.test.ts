import { expect, it } from "vitest";
import { FakeL1 } from "../testing/fake-chain.ts";
import { L1Progress } from "./l1-progress.ts";

const { blocks } = new FakeL1(6);

it("says where derivation is while it catches up, never ahead of the safe head that others are told", () => {
  const progress = new L1Progress();
  expect(progress.current(9)).toBeUndefined();
  progress.onSafe(10, blocks[2]!);
  progress.onSafe(11, blocks[2]!);
  progress.onSafe(12, blocks[4]!);
  expect([undefined, 9, 10, 11, 12, 13].map((safe) => progress.current(safe)?.number)).toEqual([undefined, undefined, 2, 2, 4, 4]);
  progress.onSafe(13, blocks[4]!);
  progress.onSafe(14, blocks[5]!);
  expect(progress.current(20)?.number).toBe(5); // one look may pass several
  progress.onReset();
  expect(progress.current(20)).toBeUndefined();
});

it("is idle only where everything has been read", () => {
  const progress = new L1Progress();
  progress.onSafe(10, blocks[5]!); // there may be more in that block
  expect([progress.current(10)?.number, progress.isIdleAt(blocks[5])]).toEqual([5, false]);
  progress.onIdle(blocks[5]!);
  expect([progress.current(undefined)?.number, progress.isIdleAt(blocks[5])]).toEqual([5, true]);
  expect([progress.isIdleAt(blocks[6]), progress.isIdleAt(undefined)]).toEqual([false, false]);
  progress.onReset();
  expect(progress.isIdleAt(blocks[5])).toBe(false);
});
