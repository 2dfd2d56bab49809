import { bytesToBigint, bytesToHex } from "@rnode/primitives";
import { expect, it } from "vitest";
import { FIRST_KEY, isBelow, LAST_KEY, restAfter, splitKeys } from "./key-range.ts";

const keyOf = (last: number): Uint8Array => Uint8Array.from({ length: 32 }, (_, i) => (i === 31 ? last : 0));

it("keys are split without gaps, into at most as many parts as there are keys", () => {
  for (const [range, parts, wanted] of [
    [{ from: FIRST_KEY, to: LAST_KEY }, 16, 16],
    [{ from: keyOf(3), to: LAST_KEY }, 7, 7],
    [{ from: keyOf(3), to: keyOf(5) }, 8, 3],
    [{ from: LAST_KEY, to: LAST_KEY }, 8, 1],
  ] as const) {
    const split = splitKeys(range, parts);
    expect(split).toHaveLength(wanted);
    expect(split[0]!.from).toEqual(range.from);
    expect(split.at(-1)!.to).toEqual(range.to);
    for (const [index, { from }] of split.slice(1).entries())
      expect(bytesToBigint(from)).toBe(bytesToBigint(split[index]!.to) + 1n);
  }
  expect(splitKeys({ from: FIRST_KEY, to: LAST_KEY }, 16).map(({ from }) => bytesToHex(from).slice(0, 4))).toEqual(
    Array.from({ length: 16 }, (_, i) => `0x${i.toString(16)}0`),
  );
});

it("the rest of a range begins after a key, and ends", () => {
  expect(restAfter({ from: FIRST_KEY, to: keyOf(9) }, keyOf(7))).toEqual({ from: keyOf(8), to: keyOf(9) });
  expect(restAfter({ from: FIRST_KEY, to: keyOf(9) }, keyOf(9))).toBeUndefined();
  expect(restAfter({ from: FIRST_KEY, to: keyOf(9) }, keyOf(12))).toBeUndefined();
  expect(restAfter({ from: FIRST_KEY, to: LAST_KEY }, LAST_KEY)).toBeUndefined();
});

it("keys below a path are compared with the end of a range", () => {
  const to = Uint8Array.from({ length: 32 }, (_, i) => (i === 0 ? 0x4a : 0xff));
  for (const [path, wanted] of [
    [[4, 9], true],
    [[4, 10], true],
    [[4, 10, 3], true],
    [[4, 11], false],
    [[4], false],
    [[3], true],
    [[], false],
  ] as const)
    expect(isBelow(Uint8Array.from(path), to)).toBe(wanted);
  expect(isBelow(Uint8Array.of(4, 10), to.with(31, 0xfe))).toBe(false);
  expect(isBelow(Uint8Array.of(), LAST_KEY)).toBe(true);
});
