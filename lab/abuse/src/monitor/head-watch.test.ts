import { expect, it } from "vitest";
import { HeadWatch } from "./head-watch.ts";

function watchOf(...sightings: readonly (readonly [atMs: number, number: number])[]): HeadWatch {
  const watch = new HeadWatch({ intervalMs: 1_000_000, read: () => Promise.reject(new Error("not asked")) });
  watch.close();
  watch.sightings.push(...sightings.map(([atMs, number]) => ({ atMs, number })));
  return watch;
}

it("counts the blocks between two times", () => {
  const watch = watchOf([0, 5], [2000, 6], [4000, 8], [6000, 9]);
  expect(watch.progress(2500, 6000)).toBe(3);
  expect(watch.progress(4500, 5500)).toBe(0);
});

it("finds the longest standstill, also one that began before the span or ended after it", () => {
  const watch = watchOf([0, 1], [2000, 2], [9000, 3], [10_000, 4]);
  expect(watch.longestStandstillMs(0, 3000)).toBe(7000);
  expect(watch.longestStandstillMs(5000, 6000)).toBe(7000);
  expect(watch.longestStandstillMs(9000, 10_000)).toBe(1000);
});

it("takes a head that has not moved again to stand still until now", () => {
  expect(watchOf([1000, 1]).longestStandstillMs(3000, 8000)).toBe(7000);
});
