import { expect, it } from "vitest";
import { HeadStall } from "./head-stall.ts";

it("says since when L1 has had the same head, once that is long", () => {
  let nowMs = Date.parse("2026-01-01T00:00:00Z");
  const stall = new HeadStall({ monotonicMs: () => nowMs });
  nowMs += 600_000;
  expect(stall.stall).toBeUndefined(); // no head yet
  stall.changed();
  nowMs += 59_999;
  expect(stall.stall).toBeUndefined();
  nowMs += 30_001;
  expect(stall.stall).toEqual({ l1StalledSince: "2026-01-01T00:10:00.000Z", l1StalledSec: 90 });
  stall.changed();
  expect(stall.stall).toBeUndefined();
});
