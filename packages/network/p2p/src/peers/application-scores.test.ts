import { silentLogger } from "@rnode/observe";
import { describe, expect, it } from "vitest";
import { ApplicationScores, noApplicationScores } from "./application-scores.ts";
import { PeerRecords } from "./peer-records.ts";

const PEER = "16Uiu2HAmKVVub7edwZ3RKDnqMpZVsusYW9TKRgbwpH54nvDWLE4x";
const OTHER = "16Uiu2HAm9Z9nKLLsFJe5jwv4UyaZmzRyPj3AFe1ZTyNzApf4hMkw";

function setUp() {
  const records = new PeerRecords({ scoreRetentionSec: 1200, log: silentLogger });
  return { records, scores: new ApplicationScores(records, { slot: 2000, nowSec: () => 1000 }) };
}
const times = (count: number, work: () => void) => {
  for (let i = 0; i < count; i++) work();
};

describe("application scores", () => {
  it.each([
    ["onValidResponse", 1, 0.5],
    ["onValidResponse", 50, 5],
    ["onErrorResponse", 1, -1],
    ["onErrorResponse", 50, -9],
    ["onRejectedPayload", 1, -20],
    ["onRejectedPayload", 50, -400],
  ] as const)("%s, %i times: %d", (event, count, score) => {
    const { scores } = setUp();
    times(count, () => scores[event](PEER));
    expect(scores.score(PEER)).toBe(score);
    expect(scores.score(OTHER)).toBe(0);
  });

  it("decay to a hundredth in 10 epochs while connected, and snap to 0 below 0.01", () => {
    const { scores, records } = setUp();
    times(10, () => scores.onValidResponse(PEER));
    times(10, () => scores.onValidResponse(OTHER));
    times(60, () => scores.decay([PEER]));
    expect(records.scores.get(PEER)?.peerScores.reqResp.validResponses).toBeCloseTo(0.1, 10);
    expect(scores.score(OTHER)).toBe(5);
    times(29, () => scores.decay([PEER]));
    expect(scores.score(PEER)).toBeGreaterThan(0);
    times(2, () => scores.decay([PEER]));
    expect(scores.score(PEER)).toBe(0);
  });

  it("are nothing with scoring none", () => {
    noApplicationScores.onRejectedPayload(PEER);
    expect(noApplicationScores.score(PEER)).toBe(0);
  });
});
