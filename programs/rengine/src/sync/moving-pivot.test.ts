import { silentLogger } from "@rnode/observe";
import type { Header } from "@rnode/protocol";
import { expect, it } from "vitest";
import { type Head, MovingPivot } from "./moving-pivot.ts";

const headAt = (number: number): Head => ({ number, hash: new Uint8Array(32).fill(number) });
const headerAt = (number: number): Header => ({ number, stateRoot: new Uint8Array(32).fill(number + 1) }) as Header;

it("the pivot stays until the head is far ahead of it, and moves once a newer header is there", async () => {
  let newest = headAt(10);
  let answer: (() => void) | undefined;
  let isMissing = true;
  const asked: number[] = [];
  const headerOf = async (hash: Uint8Array): Promise<Header> => {
    asked.push(hash[0]!);
    if (asked.length > 1) {
      await new Promise<void>((resolve) => {
        answer = resolve;
      });
      if (isMissing) throw new Error("no peer gives it");
    }
    return headerAt(hash[0]!);
  };
  const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  const pivot = await MovingPivot.at(newest, { newest: () => newest, headerOf, log: silentLogger });
  newest = headAt(73);
  expect(pivot.root).toEqual(headerAt(10).stateRoot);
  expect(asked).toEqual([10]);
  newest = headAt(74);
  expect([pivot.root, pivot.root]).toEqual([headerAt(10).stateRoot, headerAt(10).stateRoot]);
  expect(asked).toEqual([10, 74]);
  answer!();
  await turn();
  newest = headAt(80);
  isMissing = false;
  expect(pivot.root).toEqual(headerAt(10).stateRoot);
  answer!();
  await turn();
  expect(pivot.root).toEqual(headerAt(80).stateRoot);
  expect(asked).toEqual([10, 74, 80]);
  for (const number of [10, 80])
    expect(pivot.withRoot(headerAt(number).stateRoot)).toMatchObject({ header: { number }, hash: headAt(number).hash });
});
