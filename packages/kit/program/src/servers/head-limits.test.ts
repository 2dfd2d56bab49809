import { describe, expect, it } from "vitest";
import { headFaults, type KnownHead, readHeadLimits } from "./head-limits.ts";

const read = (query: string) => readHeadLimits(new URLSearchParams(query));

describe("the limits in the query of /readyz", () => {
  it("are read", () => {
    expect(read("")).toEqual({});
    expect(read("max-lag-blocks=0")).toEqual({ maxLagBlocks: 0 });
    expect(read("max-age=30&max-lag-blocks=2")).toEqual({ maxAgeSec: 30, maxLagBlocks: 2 });
  });

  it.each([
    ["max-lag=3", 'unknown parameter "max-lag": use max-lag-blocks or max-age'],
    ["toString=1", 'unknown parameter "toString": use max-lag-blocks or max-age'],
    ["max-age", 'max-age is "": give a whole number of seconds'],
    ["max-age=-1", 'max-age is "-1": give a whole number of seconds'],
    ["max-age=1.5", 'max-age is "1.5": give a whole number of seconds'],
    ["max-lag-blocks=0x10", 'max-lag-blocks is "0x10": give a whole number of blocks'],
    ["max-lag-blocks=1000000000", 'max-lag-blocks is "1000000000": give a whole number of blocks'],
    ["max-age=1&max-age=2", "max-age is given twice: give it once"],
  ])("are refused: %s", (query, fault) => {
    expect(read(query)).toBe(fault);
  });
});

describe("a head", () => {
  const head: KnownHead = { number: 100, timestampSec: 1000, target: 102 };

  it.each([
    ["no limits", head, {}, 5000, []],
    ["at the limits", head, { maxLagBlocks: 2, maxAgeSec: 10 }, 1010.9, []],
    ["too far behind", head, { maxLagBlocks: 1 }, 1000, ["its head 100 is 2 blocks behind block 102, more than 1"]],
    ["too old", head, { maxAgeSec: 10 }, 1011, ["its head 100 is 11 s old, more than 10 s"]],
    ["of the future", head, { maxAgeSec: 0 }, 990, []],
    ["nothing newer is known", { ...head, target: undefined }, { maxLagBlocks: 0 }, 1000, []],
    ["not known, without limits", undefined, {}, 1000, []],
    ["not known", undefined, { maxAgeSec: 10 }, 1000, ["its head is not known yet"]],
  ])("%s", (_, known, limits, nowSec, faults) => {
    expect(headFaults(known, limits, nowSec)).toEqual(faults);
  });

  it("has a reason for each limit that it breaks", () => {
    expect(headFaults(head, { maxLagBlocks: 0, maxAgeSec: 0 }, 1001)).toHaveLength(2);
  });
});
