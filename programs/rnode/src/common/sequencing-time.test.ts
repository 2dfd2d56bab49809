import type { L1BlockRef } from "@rnode/protocol";
import { describe, expect, it } from "vitest";
import { createHarness } from "../testing/harness.ts";
import { recordingLogger } from "../testing/recording-logger.ts";
import { SequencingTime } from "./sequencing-time.ts";

const START_SEC = 1_800_000_000;
const SLOT_SEC = 12;

interface World {
  /** how far the time of day is from the truth, by the seconds that have passed */
  readonly offsetSec?: (atSec: number) => number;
  /** how many seconds of each second the monotonic clock counts; a suspended machine counts none */
  readonly isSuspended?: (atSec: number) => boolean;
  /** the newest slot that the L1 client has, by the seconds that have passed */
  readonly slotAt?: (atSec: number) => number;
}

const fourSecondsLate = (atSec: number): number => Math.floor((atSec - 4) / SLOT_SEC);

/** @returns how far the time by which blocks are due is from the truth, in seconds, after each second; suspended seconds are left out */
function errorsOf({ offsetSec = () => 0, isSuspended = () => false, slotAt = fourSecondsLate }: World, durationSec = 1_800) {
  const at = { sec: 0, monotonicMs: 7_000_000 };
  const { log, logs } = recordingLogger();
  const clock = { unixMs: () => (START_SEC + at.sec + offsetSec(at.sec)) * 1_000, monotonicMs: () => at.monotonicMs };
  const l1Head = (): L1BlockRef => {
    const number = slotAt(at.sec) + 1_000;
    return { number, hash: `0x${number}`, parentHash: `0x${number - 1}`, timestamp: START_SEC + slotAt(at.sec) * SLOT_SEC };
  };
  const time = new SequencingTime({ clock, l1Head, log });
  const errors: { sec: number; error: number }[] = [];
  for (; at.sec < durationSec; at.sec++) {
    if (isSuspended(at.sec)) continue;
    errors.push({ sec: at.sec, error: time.nowMs() / 1_000 - START_SEC - at.sec });
    at.monotonicMs += 1_000;
  }
  return { errors, logs };
}

const between = (from: number, to: number) => (sec: number) => sec >= from && sec < to;
const worst = (errors: readonly { error: number }[]) => Math.max(...errors.map(({ error }) => Math.abs(error)));

describe("the time by which a sequencer's blocks are due", () => {
  const steps = [-86_400, -600, -61, -30, -5, 5, 30, 61, 600, 86_400];
  const lengths = [1, 8, 15, 100];
  it.each(steps.flatMap((step) => lengths.map((length) => [step, length] as const)))(
    "does not follow a clock that is %d s off for %d s",
    (step, length) => {
      const isOff = between(400, 400 + length);
      const { errors, logs } = errorsOf({ offsetSec: (sec) => (isOff(sec) ? step : 0) });
      expect(worst(errors)).toBeLessThanOrEqual(1);
      expect(logs.filter(({ level }) => level === "warn")).toHaveLength(Math.ceil(length / 60));
    },
  );

  it.each(steps)("bears one step after the other: %d s, then the other way round", (step) => {
    const { errors } = errorsOf({ offsetSec: (sec) => (between(300, 310)(sec) ? step : between(310, 330)(sec) ? -step : 0) });
    expect(worst(errors)).toBeLessThanOrEqual(1);
  });

  it("follows small corrections at once", () => {
    const { errors, logs } = errorsOf({ offsetSec: (sec) => Math.floor(sec / 10) * 0.5 }, 300);
    for (const { sec, error } of errors) expect(error).toBeCloseTo(Math.floor(sec / 10) * 0.5);
    expect(logs.filter(({ level }) => level === "warn")).toEqual([]);
  });

  it.each([30, 600, 86_400])(
    "is never beyond what L1 allows where the clock is %d s ahead from the start, and says so",
    (ahead) => {
      const { errors, logs } = errorsOf({ offsetSec: () => ahead });
      expect(worst(errors)).toBeLessThanOrEqual(61);
      if (ahead > 60) expect(logs.some(({ text }) => text.includes("set the clock"))).toBe(true);
    },
  );

  it.each([-30, -600, -86_400])("is never behind L1's head where the clock is %d s behind from the start", (behind) => {
    expect(worst(errorsOf({ offsetSec: () => behind }).errors)).toBeLessThanOrEqual(Math.max(SLOT_SEC + 4, 30));
  });

  it.each([-600, 600])("takes the right time when a clock that was %d s off from the start is set", (off) => {
    const { errors } = errorsOf({ offsetSec: (sec) => (sec < 300 ? off : 0) });
    expect(worst(errors.filter(({ sec }) => sec > 430))).toBeLessThanOrEqual(1);
  });

  it("follows a correction that L1 confirms: the machine was suspended", () => {
    const { errors } = errorsOf({ isSuspended: between(300, 900) });
    expect(worst(errors.filter(({ sec }) => sec > 900 + SLOT_SEC))).toBeLessThanOrEqual(1);
  });

  it.each([3, 30])("follows a lasting correction of %d s that L1 cannot judge, after two minutes", (step) => {
    const { errors } = errorsOf({ offsetSec: (sec) => (sec < 300 ? 0 : step) }, 600);
    expect(worst(errors.filter(({ sec }) => sec < 415))).toBeLessThanOrEqual(1);
    expect(errors.at(-1)!.error).toBeCloseTo(step);
  });

  it.each([
    ["stalls for half an hour", (sec: number) => (sec < 200 ? fourSecondsLate(sec) : fourSecondsLate(200))],
    ["has stalled before the start", () => -100],
    ["misses eight slots", (sec: number) => (between(200, 296)(sec) ? fourSecondsLate(200) : fourSecondsLate(sec))],
    ["catches up from half an hour ago", (sec: number) => Math.min(fourSecondsLate(sec), -150 + sec * 3)],
  ])("is the right time of day while L1 %s", (_, slotAt) => {
    const { errors } = errorsOf({ slotAt });
    expect(worst(errors.filter(({ sec }) => sec > 61))).toBeLessThanOrEqual(1);
  });
});

describe("a node whose time of day is wrong for a while", () => {
  it.each([600_000, -600_000, 86_400_000, -86_400_000])(
    "makes its blocks again at once when the engine answers: %d ms",
    async (offsetMs) => {
      const harness = createHarness({ l1Blocks: 1, timesBlocks: true });
      const { clock, engine, control } = harness;
      harness.sequencer.start();
      await harness.untilIdle();
      await harness.advance(20_000);
      const before = control.heads.unsafe.number;
      expect(before).toBeGreaterThan(5);
      clock.offsetMs = offsetMs;
      engine.isDown = true; // it refuses tokens that are dated minutes from its own time
      await harness.advance(8_000);
      clock.offsetMs = 0;
      engine.isDown = false;
      await harness.advance(20_000);
      const { timestamp } = control.heads.unsafe;
      expect(Math.abs(timestamp - clock.now / 1_000)).toBeLessThanOrEqual(2);
    },
  );

  it.each([30_000, 600_000])("makes no block from the future where the engine has the same time: %d ms", async (offsetMs) => {
    const harness = createHarness({ l1Blocks: 1, timesBlocks: true });
    const { clock, control } = harness;
    harness.sequencer.start();
    await harness.untilIdle();
    await harness.advance(20_000);
    for (let passedMs = 0; passedMs < 30_000; passedMs += 500) {
      clock.offsetMs = passedMs < 10_000 ? offsetMs : 0;
      await harness.advance(500);
      expect(Math.abs(control.heads.unsafe.timestamp - clock.now / 1_000)).toBeLessThanOrEqual(2.5);
    }
  });
});
