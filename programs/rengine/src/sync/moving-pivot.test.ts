import { silentLogger } from "@rnode/observe";
import { UserError } from "@rnode/program";
import type { Header } from "@rnode/protocol";
import { expect, it } from "vitest";
import { type Head, isBelowHead, MovingPivot } from "./moving-pivot.ts";

/** On one of two branches. */
const hashAt = (number: number, branch = 0): Uint8Array => Uint8Array.of(number >> 8, number, branch);
const headAt = (number: number, branch = 0): Head => ({ number, hash: hashAt(number, branch) });
const rootAt = (number: number): Uint8Array => new Uint8Array(32).fill(number + 1);

/** The branches part above block 100. */
async function headerOf(hash: Uint8Array): Promise<Header> {
  const number = 256 * hash[0]! + hash[1]!;
  return { number, stateRoot: rootAt(number), parentHash: hashAt(number - 1, number > 101 ? hash[2]! : 0) } as Header;
}

it("the pivot is an ancestor of the head, or in the middle of a short chain", async () => {
  for (const [head, genesis, wanted] of [
    [1, 0, 1],
    [20, 0, 10],
    [128, 0, 64],
    [1_000, 0, 936],
    [1_000, 990, 995],
  ] as const) {
    const pivot = await MovingPivot.below({ newest: () => headAt(head), genesis, headerOf, log: silentLogger });
    expect(pivot.withRoot(pivot.root)).toMatchObject({ header: { number: wanted }, hash: hashAt(wanted) });
  }
});

it("the pivot stays until the head is far ahead of it, and moves once the newer one is there", async () => {
  let newest = headAt(164);
  let isMissing = false;
  let asked = 0;
  const answer = async (hash: Uint8Array): Promise<Header> => {
    asked++;
    if (isMissing) throw new UserError("no peer gives it");
    return headerOf(hash);
  };
  const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  const pivot = await MovingPivot.below({ newest: () => newest, genesis: 0, headerOf: answer, log: silentLogger });
  newest = headAt(219);
  expect(pivot.root).toEqual(rootAt(100));
  await turn();
  expect(asked).toBe(65);
  newest = headAt(220);
  isMissing = true;
  expect([pivot.root, pivot.root]).toEqual([rootAt(100), rootAt(100)]);
  await turn();
  expect(asked).toBe(66);
  isMissing = false;
  expect(pivot.root).toEqual(rootAt(100));
  await turn();
  expect(pivot.root).toEqual(rootAt(156));
  for (const number of [100, 156])
    expect(pivot.withRoot(rootAt(number))).toMatchObject({ header: { number }, hash: hashAt(number) });
});

it("a reorg above a block leaves it below the head, and a deeper one does not", async () => {
  const isBelow = (number: number, newest: Head, answer = headerOf): Promise<boolean> =>
    isBelowHead(headAt(number), { newest: () => newest, headerOf: answer });
  expect(await isBelow(100, headAt(164, 1))).toBe(true);
  expect(await isBelow(101, headAt(164, 0))).toBe(true);
  expect(await isBelow(101, headAt(164, 1))).toBe(false);
  expect(await isBelow(101, headAt(100, 1))).toBe(false);
  expect(await isBelow(101, headAt(5_000, 1))).toBe(true); // too far to be compared
  const missing = (): Promise<Header> => Promise.reject(new UserError("no peer gives it"));
  expect(await isBelow(101, headAt(164, 1), missing)).toBe(true);
});
