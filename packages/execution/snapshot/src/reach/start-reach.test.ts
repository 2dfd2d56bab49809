import { forksUpTo } from "@rnode/protocol";
import { describe, expect, it } from "vitest";
import { StartReachMeter } from "./start-reach.ts";

const GRANITE_SEC = 10_000;

/** Blocks of the L1 origins `from` to `to`, two of each, 12 seconds apart. @param graniteSec when Granite begins */
function reachOf(from: number, to: number, graniteSec: number, isWhole = false) {
  const forkTimes = { ...forksUpTo("fjord"), granite: graniteSec };
  const optimism = { eip1559Elasticity: 6, eip1559Denominator: 50, eip1559DenominatorCanyon: 250, forkTimes, bedrockBlock: 0 };
  const meter = new StartReachMeter({ optimism }, isWhole);
  for (let number = from; number <= to; number++) {
    for (let block = 0; block < 2; block++) meter.take({ number, timestamp: number * 12 });
  }
  return meter.reach;
}

describe("how far back the blocks of a snapshot reach", () => {
  it.each([
    ["fifty L1 blocks are enough since Granite", 1_000, 1_050, 0, true, 50],
    ["one less is not", 1_001, 1_050, 0, false, 50],
    ["before, there have to be three hundred", 1_000, 1_299, 1_000_000, false, 300],
    ["as there are here", 1_000, 1_300, 1_000_000, true, 300],
    ["fifty since Granite are enough where older ones are there", 800, 884, GRANITE_SEC, true, 300],
    ["and where there are fewer since Granite, those before count as they did", 800, 883, GRANITE_SEC, false, 300],
  ])("%s", (_, from, to, graniteSec, isEnough, neededL1Blocks) => {
    expect(reachOf(from, to, graniteSec)).toEqual({ l1Blocks: to - from, neededL1Blocks, isEnough });
  });

  it("is enough where it begins with the chain, and where blocks have no L1 origin", () => {
    expect(reachOf(1_000, 1_001, 0, true)).toMatchObject({ l1Blocks: 1, isEnough: true });
    const meter = new StartReachMeter({}, false);
    meter.take(undefined);
    expect(meter.reach).toEqual({ l1Blocks: undefined, neededL1Blocks: 0, isEnough: true });
  });
});
