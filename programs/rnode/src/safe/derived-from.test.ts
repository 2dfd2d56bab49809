import type { BlockId } from "@rnode/protocol";
import { describe, expect, it } from "vitest";
import { DerivedFrom } from "./derived-from.ts";

const l1 = (number: number, branch = "a"): BlockId => ({ number, hash: `0x1${branch}${number}` });
const l2 = (number: number): BlockId => ({ number, hash: `0x2${number}` });

function derived(...steps: readonly (readonly [number, BlockId])[]): DerivedFrom {
  const from = new DerivedFrom();
  from.onReset(l2(0));
  for (const [number, l1Block] of steps) from.onSafe(l2(number), l1Block);
  return from;
}
const l1Of = (from: DerivedFrom, numbers: readonly number[]) => numbers.map((number) => from.of(number)?.l1Block.hash);

describe("which L1 block a safe block came from", () => {
  it("is the first that made it or a block above it safe", () => {
    const from = derived([1, l1(5)], [2, l1(5)], [6, l1(8)], [7, l1(8)]);
    expect(l1Of(from, [1, 2, 3, 6, 7, 8])).toEqual(["0x1a5", "0x1a5", "0x1a8", "0x1a8", "0x1a8", undefined]);
    expect(from.of(3)?.safeHead.number).toBe(6);
  });

  it("is listed down from a block", () => {
    const from = derived([2, l1(5)], [6, l1(8)], [9, l1(9)]);
    const down = (number: number) => from.downFrom(number).map(({ safeHead }) => safeHead.number);
    expect([9, 7, 6, 1].map(down)).toEqual([[9, 6, 2], [9, 6, 2], [6, 2], [2]]);
    expect(down(10)).toEqual([]);
    const several = derived([1, l1(5)], [2, l1(5)], [6, l1(8)], [7, l1(8)], [8, l1(8)]);
    expect([1, 2, 7, 8].map((number) => several.downFrom(number).map(({ safeHead }) => safeHead.number))).toEqual([
      [1],
      [2],
      [7, 2],
      [8, 2],
    ]);
  });

  it("stays known above what is derived again after a reset", () => {
    const from = derived([2, l1(5)], [6, l1(8)], [9, l1(9)]);
    from.onReset(l2(0));
    from.onSafe(l2(1), l1(5, "b"));
    expect(l1Of(from, [1, 2, 6, 9])).toEqual(["0x1b5", "0x1a5", "0x1a8", "0x1a9"]);
    from.onSafe(l2(2), l1(6, "b"));
    from.onSafe(l2(7), l1(6, "b"));
    expect(l1Of(from, [1, 2, 3, 7, 8, 9])).toEqual(["0x1b5", "0x1b6", "0x1b6", "0x1b6", "0x1a9", "0x1a9"]);
  });

  it("has been read up to there when the next one came from a later L1 block", () => {
    const from = derived([1, l1(5)], [2, l1(5)], [6, l1(8)]);
    const whole = () =>
      [1, 2, 6].map((number) => {
        const since = from.lastOf(l2(number));
        return since && `${since.l1Block.hash} ${since.isWhole}`;
      });
    expect(whole()).toEqual(["0x1a5 false", "0x1a5 true", "0x1a8 false"]);
    from.onReset(l2(2)); // what was read whole stays known
    expect(whole()).toEqual(["0x1a5 false", "0x1a5 true", "0x1a8 false"]);
    from.onSafe(l2(3), l1(6));
    expect(whole()).toEqual(["0x1a5 false", "0x1a5 true", "0x1a8 false"]);
    from.onSafe(l2(6), l1(7));
    expect(from.lastOf(l2(3))).toEqual({ l1Block: l1(6), isWhole: true });
    expect(from.lastOf({ number: 3, hash: "0x2other" })).toBeUndefined();
  });

  it("is known from a record of the time before", () => {
    const from = new DerivedFrom();
    expect(from.isEmpty).toBe(true);
    from.load([
      { l1Block: l1(5), safeHead: l2(2) },
      { l1Block: l1(8), safeHead: l2(6) },
    ]);
    expect(l1Of(from, [2, 3, 7])).toEqual(["0x1a5", "0x1a8", undefined]);
    from.onReset(l2(2));
    from.onSafe(l2(3), l1(8));
    expect(l1Of(from, [2, 3, 4])).toEqual(["0x1a5", "0x1a8", "0x1a8"]);
  });

  it("is remembered for a bounded number of blocks", () => {
    const from = derived(...Array.from({ length: 20_000 }, (_, i) => [i + 1, l1(i + 1)] as const));
    expect(from.of(1)?.l1Block.number).toBe(20_000 - 16_384 + 1);
    expect(from.of(20_000)?.l1Block.number).toBe(20_000);
  });
});
