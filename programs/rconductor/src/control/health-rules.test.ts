import { describe, expect, it } from "vitest";
import { type HealthOptions, HealthRules, type HealthSample } from "./health-rules.ts";

const OPTIONS: HealthOptions = {
  intervalSec: 1,
  unsafeIntervalSec: 10,
  safeEnabled: true,
  safeIntervalSec: 60,
  minPeerCount: 2,
  executionP2pMinPeerCount: 3,
};
const NOW_SEC = 1_000_000;

function sample(
  change: Partial<HealthSample> & { readonly number?: number; readonly ageSec?: number; readonly safeAgeSec?: number } = {},
): HealthSample {
  const { number = 100, ageSec = 1, safeAgeSec = 30, ...rest } = change;
  return {
    sync: { unsafe: { number, timestampSec: NOW_SEC - ageSec }, safe: { number: 90, timestampSec: NOW_SEC - safeAgeSec } },
    peers: { connected: 2 },
    engine: { number },
    ...rest,
  };
}

describe("a sequencer", () => {
  it.each<[string, HealthSample, string, RegExp | undefined]>([
    ["at work is healthy", sample(), "healthy", undefined],
    ["whose head is old stalls", sample({ ageSec: 11 }), "stalled", /11 s behind, more than 10 s/],
    ["at the limit is healthy", sample({ ageSec: 10 }), "healthy", undefined],
    ["from the future is healthy", sample({ ageSec: -500 }), "healthy", undefined],
    ["whose safe head is old is unfit", sample({ safeAgeSec: 61 }), "unfit", /safe head is 61 s behind/],
    ["with few peers is unfit", sample({ peers: { connected: 1 } }), "unfit", /1 peers are connected, fewer than 2/],
    ["whose execution client has enough peers is healthy", sample({ executionPeers: { connected: 3 } }), "healthy", undefined],
    [
      "whose execution client has few peers is unfit",
      sample({ executionPeers: { connected: 2 } }),
      "unfit",
      /2 peers are connected to the execution client, fewer than 3/,
    ],
    [
      "whose execution client does not count its peers is unfit",
      sample({ executionPeers: { error: "x" } }),
      "unfit",
      /peers of the execution client cannot be counted: x/,
    ],
    ["whose peers are not counted is healthy", sample({ peers: undefined }), "healthy", undefined],
    ["whose engine is behind is unfit", sample({ engine: { number: 96 } }), "unfit", /at block 96, the rollup node at 100/],
    ["whose engine is a little behind is healthy", sample({ engine: { number: 97 } }), "healthy", undefined],
    [
      "whose engine does not answer is down",
      sample({ engine: { error: "refused" } }),
      "down",
      /execution client does not answer: refused/,
    ],
    ["whose node does not answer is down", sample({ sync: { error: "timeout" } }), "down", /rollup node does not answer: timeout/],
    ["whose peers cannot be counted is down", sample({ peers: { error: "x" } }), "down", /peers cannot be counted/],
  ])("%s", (_, given, fitness, reason) => {
    const verdict = new HealthRules(OPTIONS, 2).judge(given, 0, NOW_SEC);
    expect(verdict.fitness).toBe(fitness);
    if (reason === undefined) expect(verdict.reasons).toEqual([]);
    else expect(verdict.reasons.join()).toMatch(reason);
  });

  it("stalls when no block comes for two block times, and goes on with the next", () => {
    const rules = new HealthRules(OPTIONS, 2);
    const at = (ms: number, number: number) => rules.judge(sample({ number }), ms, NOW_SEC).fitness;
    expect([at(0, 100), at(3_900, 100), at(4_000, 100)]).toEqual(["healthy", "healthy", "stalled"]);
    expect(rules.hasProgressed).toBe(false);
    expect([at(5_000, 101), at(8_900, 101), at(9_000, 101)]).toEqual(["healthy", "healthy", "stalled"]);
    expect(at(9_100, 99)).toBe("healthy"); // after an L1 reorg the chain goes on
  });
});
