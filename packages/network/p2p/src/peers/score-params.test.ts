import { describe, expect, it } from "vitest";
import { lightScoring, noScoring, SCORE_THRESHOLDS, scoreDecay, setLiveTopic, slotMs } from "./score-params.ts";

const TOPICS = ["/optimism/10/0/blocks", "/optimism/10/1/blocks", "/optimism/10/2/blocks", "/optimism/10/3/blocks"] as const;
const scoring = (slot = 2000, liveTopic: string = TOPICS[3]) =>
  lightScoring({ slot, topics: TOPICS, liveTopic, applicationScore: () => 0 });

describe("scoring light", () => {
  it("has the parameters of docs/protocol/03-p2p.md#peer-scoring at a block time of 2 s", () => {
    const { topics, ...params } = scoring(2000, TOPICS[0]);
    expect(params).toEqual({
      topicScoreCap: 34,
      appSpecificScore: expect.any(Function),
      appSpecificWeight: 1,
      IPColocationFactorWeight: -35,
      IPColocationFactorThreshold: 10,
      IPColocationFactorWhitelist: new Set(["127.0.0.1", "::1"]),
      behaviourPenaltyWeight: -16,
      behaviourPenaltyThreshold: 6,
      behaviourPenaltyDecay: 0.01 ** (1 / 60),
      decayInterval: 2000,
      decayToZero: 0.01,
      retainScore: 100 * 6 * 2000,
    });
    expect(topics[TOPICS[0]]).toEqual({
      topicWeight: 0.8,
      timeInMeshWeight: 10 / 1800,
      timeInMeshQuantum: 2000,
      timeInMeshCap: 1800,
      firstMessageDeliveriesWeight: 1,
      firstMessageDeliveriesDecay: 0.01 ** (1 / 120),
      firstMessageDeliveriesCap: 23,
      meshMessageDeliveriesWeight: -0.7,
      meshMessageDeliveriesDecay: 0.01 ** (1 / 30),
      meshMessageDeliveriesCap: 30,
      meshMessageDeliveriesThreshold: 3,
      meshMessageDeliveriesWindow: 2000,
      meshMessageDeliveriesActivation: 4 * 6 * 2000,
      meshFailurePenaltyWeight: -0.7,
      meshFailurePenaltyDecay: 0.01 ** (1 / 30),
      invalidMessageDeliveriesWeight: -140.4475,
      invalidMessageDeliveriesDecay: 0.01 ** (1 / 300),
    });
    expect(SCORE_THRESHOLDS).toEqual({
      gossipThreshold: -10,
      publishThreshold: -40,
      graylistThreshold: -40,
      acceptPXThreshold: 20,
      opportunisticGraftThreshold: 0.05,
    });
  });

  it("counts invalid blocks on every topic, and all else on the first, too few deliveries while blocks are published there", () => {
    const params = scoring();
    const weights = () =>
      TOPICS.map((topic) => {
        const of = params.topics[topic]!;
        return [
          of.invalidMessageDeliveriesWeight,
          of.firstMessageDeliveriesWeight,
          of.timeInMeshWeight,
          of.meshMessageDeliveriesWeight,
          of.meshFailurePenaltyWeight,
        ];
      });
    const others = Array(3).fill([-140.4475, 0, 0, 0, 0]);
    expect(weights()).toEqual([[-140.4475, 1, 10 / 1800, 0, 0], ...others]);
    setLiveTopic(params, TOPICS[0]);
    expect(weights()).toEqual([[-140.4475, 1, 10 / 1800, -0.7, -0.7], ...others]);
    setLiveTopic(params, TOPICS[2]);
    expect(weights()).toEqual([[-140.4475, 1, 10 / 1800, 0, 0], ...others]);
  });

  it("takes two seconds where the chain says no block time, and divides times as integers", () => {
    expect(slotMs(0)).toBe(2000);
    expect(slotMs(1)).toBe(1000);
    expect(scoreDecay(10_500, 2000)).toBe(0.01 ** (1 / 5));
    expect(scoring(7000).topics[TOPICS[0]]?.timeInMeshCap).toBe(514);
  });

  it("none: no weight is left", () => {
    const params = noScoring(2000);
    expect([params.topics, params.appSpecificWeight, params.IPColocationFactorWeight, params.behaviourPenaltyWeight]).toEqual([
      {},
      0,
      0,
      0,
    ]);
  });
});
