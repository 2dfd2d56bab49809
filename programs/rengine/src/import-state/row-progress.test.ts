import { expect, it } from "vitest";
import { duration, RowProgress } from "./row-progress.ts";

it("reports rows, their rate and the time that is left, once a second", () => {
  let nowMs = 0;
  const lines: string[] = [];
  const progress = new RowProgress({ progress: (line) => lines.push(line) }, "writing", 10_000, () => nowMs);
  for (const [ms, slots] of [
    [0, 900], // of an earlier run
    [999, 1_900],
    [2_000, 2_900],
    [2_500, 3_000],
    [4_000, 4_900],
  ] as const) {
    nowMs = ms;
    progress.at({ accounts: 100, slots });
  }
  expect(lines).toEqual([
    "writing: 3000 of 10000 rows, 1000 a second, 7 s left",
    "writing: 5000 of 10000 rows, 1000 a second, 5 s left",
  ]);
});

it("says the share that is read, where the number of rows is not known", () => {
  let nowMs = 0;
  const lines: string[] = [];
  const progress = new RowProgress({ progress: (line) => lines.push(line) }, "reading", undefined, () => nowMs);
  progress.at({ accounts: 0, slots: 0 }, 0);
  nowMs = 10_000;
  progress.at({ accounts: 100, slots: 900 }, 0.25);
  nowMs = 20_000;
  progress.at({ accounts: 100, slots: 1_900 });
  expect(lines).toEqual(["reading: 1000 rows, 25 %, 100 a second, 30 s left", "reading: 2000 rows, 100 a second"]);
});

it.each([
  [41.2, "42 s"],
  [100, "2 min"],
  [11_100, "3 h 5 min"],
])("says %d seconds as %s", (seconds, text) => {
  expect(duration(seconds)).toBe(text);
});
