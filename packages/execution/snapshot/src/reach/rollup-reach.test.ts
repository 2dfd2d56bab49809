import { describe, expect, it } from "vitest";
import { rollupReach } from "./rollup-reach.ts";

/** six blocks an L1 origin, from the block after the genesis on */
const originOf = (number: number): number | undefined => (number === 0 ? undefined : 1_000 + Math.floor((number - 1) / 6));

describe("the blocks that a rollup node reads when it starts", () => {
  it("go down to the last one whose L1 origin is a channel timeout older", () => {
    const number = 6_000; // the last one of its origin
    const blocks = rollupReach(number, 1, originOf);
    expect(blocks).toBe(300 * 6 + 1);
    const [oldest, next] = [originOf(number - blocks + 1)!, originOf(number - blocks + 2)!];
    expect([oldest + 300, next + 300]).toEqual([originOf(number), originOf(number)! + 1]);
  });

  it.each([
    ["all that there are, where these are fewer", 6_000, 5_000, 1_001],
    ["all, where the chain is young", 50, 1, 50],
    ["those from the last block of that origin on, where the block is the first one of its own", 1_801, 1, 1_796],
    ["one, where the oldest block is the block", 1, 1, 1],
  ])("are %s", (_, number, oldest, expected) => {
    expect(rollupReach(number, oldest, originOf)).toBe(expected);
  });

  it("are none but itself on a chain without L1", () => {
    expect(rollupReach(6_000, 1, () => undefined)).toBe(1);
  });
});
