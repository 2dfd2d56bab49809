import { describe, expect, it } from "vitest";
import { checkForkSchedule } from "./fork-schedule.ts";
import type { ForkTimes } from "./fork-times.ts";
import { FORK_FACTS, forkFacts, OP_FORKS, type OpFork } from "./op-forks.ts";

const SCHEDULED = OP_FORKS.slice(1);
const GENESIS_SEC = 1000;
const keyOf = (fork: OpFork): string | undefined => forkFacts(fork).rollupKey;
const check = (times: ForkTimes): string | undefined => {
  const fault = checkForkSchedule(times, keyOf, GENESIS_SEC);
  return fault && `${fault.key} ${fault.timeSec}: ${fault.expected}`;
};
/** Each fork 10 s after the previous one. */
const spread = Object.fromEntries(SCHEDULED.map((fork, index) => [fork, GENESIS_SEC + 10 * (index + 1)]));

describe("a schedule of forks", () => {
  it("may end after any fork, begin at genesis, or be empty", () => {
    expect(check({})).toBeUndefined();
    for (const [index] of SCHEDULED.entries()) {
      const forks = SCHEDULED.slice(0, index + 1);
      expect(check(Object.fromEntries(forks.map((fork) => [fork, spread[fork]!])))).toBeUndefined();
      for (const time of [0, GENESIS_SEC]) expect(check(Object.fromEntries(forks.map((fork) => [fork, time])))).toBeUndefined();
    }
  });

  const pairs = SCHEDULED.slice(1).map((fork, index) => [fork, SCHEDULED[index]!] as const);
  it.each(pairs)("names %s if %s is missing or later", (fork, before) => {
    const { [before]: _, ...gap } = spread as Record<string, number>;
    expect(check(gap)).toBe(`${keyOf(fork)} ${spread[fork]}: not set, because ${keyOf(before)} is not set`);
    const early = spread[before]! - 1;
    const expected = `at least ${keyOf(before)} (${spread[before]})`;
    expect(check({ ...spread, [fork]: early })).toBe(`${keyOf(fork)} ${early}: ${expected}`);
  });

  it.each(pairs)("%s at the time of %s", (fork, before) => {
    const isFromJovianOn = OP_FORKS.indexOf(fork) >= OP_FORKS.indexOf("jovian");
    const together = { ...spread, [fork]: spread[before]! };
    expect(check(together)).toBe(
      isFromJovianOn
        ? `${keyOf(fork)} ${spread[before]}: later than ${keyOf(before)} (${spread[before]}), because both are after genesis (${GENESIS_SEC})`
        : undefined,
    );
    expect(checkForkSchedule(together, keyOf, undefined)).toBeUndefined();
  });

  it("has a key for each scheduled fork in both kinds of configuration", () => {
    for (const fork of SCHEDULED) expect(FORK_FACTS[fork].rollupKey).toMatch(/_time$/);
  });
});
