import { createLogger, createMetrics, noMetrics, silentLogger } from "@rnode/observe";
import { describe, expect, it } from "vitest";
import { createP2PMetrics } from "../p2p-metrics.ts";
import type { GossipPeerStats } from "./gossip-view.ts";
import { PeerRecords } from "./peer-records.ts";
import { NO_SCORES } from "./record-json.ts";
import { ScoreMonitor } from "./score-monitor.ts";
import { takeSnapshot } from "./score-snapshot.ts";

const PEER = "16Uiu2HAmKVVub7edwZ3RKDnqMpZVsusYW9TKRgbwpH54nvDWLE4x";
const OTHER = "16Uiu2HAm9Z9nKLLsFJe5jwv4UyaZmzRyPj3AFe1ZTyNzApf4hMkw";

function setUp({ enabled = true, threshold = -100, staticPeers = [] as string[] } = {}) {
  const records = new PeerRecords({ scoreRetentionSec: 1200, log: silentLogger });
  const disconnected: string[] = [];
  const lines: string[] = [];
  const connected = [PEER, OTHER];
  const time = { sec: 1000, isConfirmed: false };
  const monitor = new ScoreMonitor({
    records,
    ban: { enabled, threshold, durationMs: 3_600_000 },
    isJudgementConfirmed: () => time.isConfirmed,
    isStatic: (peer) => staticPeers.includes(peer),
    connected: () => connected,
    disconnect: async (peer) => {
      disconnected.push(peer);
    },
    nowSec: () => time.sec,
    metrics: createP2PMetrics(noMetrics),
    log: createLogger({ level: "info", format: "logfmt", destination: { write: (line) => lines.push(line) } }),
  });
  const setTotal = (peer: string, total: number) =>
    records.setScores(peer, { ...NO_SCORES, gossip: { ...NO_SCORES.gossip, total, behavioralPenalty: 9 } }, 1000);
  return { time, records, monitor, disconnected, connected, lines, setTotal };
}

describe("the score monitor", () => {
  it("bans a peer below the threshold with duration and reason, and disconnects it", async () => {
    const { monitor, records, disconnected, lines, setTotal } = setUp();
    setTotal(PEER, -112.3571);
    await monitor.checkNext();
    expect(records.bans.get(PEER)).toEqual({
      expiry: 4600,
      lastUpdate: 1000,
      reason: "score -112.36 is below -100: behavioural penalty 9",
    });
    expect(disconnected).toEqual([PEER]);
    expect(lines.join("")).toContain("behavioural penalty 9");
  });

  it.each([
    ["equal to the threshold", -100, {}],
    ["of a static peer", -500, { staticPeers: [PEER] }],
    ["with banning switched off", -500, { enabled: false }],
    ["above another threshold", -500, { threshold: -1000 }],
  ])("does nothing about a score %s", async (_, total, options) => {
    const { monitor, records, disconnected, setTotal } = setUp(options);
    setTotal(PEER, total);
    for (let i = 0; i < 4; i++) await monitor.checkNext();
    expect([records.bans.size, disconnected]).toEqual([0, []]);
  });

  it("bans for invalid blocks once a valid one has come, and says until then that the fault may be ours", async () => {
    const { time, monitor, records, lines, connected } = setUp();
    connected.pop();
    const blocks = { ...NO_SCORES.gossip.blocks, invalidMessageDeliveries: 1 };
    records.setScores(PEER, { ...NO_SCORES, gossip: { ...NO_SCORES.gossip, total: -112, blocks } }, 1000);
    await monitor.checkNext();
    await monitor.checkNext();
    expect(records.bans.size).toBe(0);
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain("clock");
    time.sec += 60;
    await monitor.checkNext();
    expect(lines).toHaveLength(2);
    time.isConfirmed = true;
    await monitor.checkNext();
    expect(records.bans.get(PEER)?.reason).toBe("score -112 is below -100: invalid blocks 1");
  });

  it("does nothing about a score of former times", async () => {
    const { monitor, records, setTotal } = setUp();
    setTotal(PEER, -500);
    records.setScores(PEER, { ...NO_SCORES, gossip: { ...NO_SCORES.gossip, total: -500 } }, 1000 - 1201);
    await monitor.checkNext();
    expect(records.bans.size).toBe(0);
  });

  it("checks one peer at a time, each in turn, and none that has left", async () => {
    const { monitor, disconnected, connected, setTotal } = setUp();
    setTotal(PEER, -500);
    setTotal(OTHER, -500);
    await monitor.checkNext();
    expect(disconnected).toEqual([PEER]);
    connected.shift();
    await monitor.checkNext();
    expect(disconnected).toEqual([PEER, OTHER]);
    connected.shift();
    await monitor.checkNext();
    expect(disconnected).toEqual([PEER, OTHER]);
  });
});

describe("a snapshot of scores", () => {
  const stats = (ip: string, topics: GossipPeerStats["topics"] = {}): GossipPeerStats => ({
    knownIPs: new Set([ip]),
    behaviourPenalty: 7,
    topics,
  });
  const topic = { inMesh: true, meshTime: 4000, firstMessageDeliveries: 1, meshMessageDeliveries: 2, invalidMessageDeliveries: 3 };

  it("adds up the topics, keeps the counters of request-response, and observes everything", async () => {
    const records = new PeerRecords({ scoreRetentionSec: 1200, log: silentLogger });
    const reqResp = { validResponses: 1, errorResponses: 2, rejectedPayloads: 0 };
    records.setScores(PEER, { ...NO_SCORES, reqResp }, 1);
    const metrics = createMetrics({ prefix: "" });
    const of = stats("192.0.2.1", { a: topic, b: { ...topic, inMesh: false, meshTime: 9000 } });
    const gossip = { score: () => -12.5, stats: () => ({ [PEER]: of }) };
    takeSnapshot([PEER, OTHER], gossip, 1000, { records, metrics: createP2PMetrics(metrics) });
    expect(records.scores.get(PEER)).toEqual({
      lastUpdate: 1000,
      peerScores: {
        gossip: {
          total: -12.5,
          blocks: { timeInMesh: 4, firstMessageDeliveries: 2, meshMessageDeliveries: 4, invalidMessageDeliveries: 6 },
          IPColocationFactor: 0,
          behavioralPenalty: 7,
        },
        reqResp,
      },
    });
    expect(records.scores.get(OTHER)?.peerScores.gossip.behavioralPenalty).toBe(0);
    const { body } = await metrics.expose();
    expect(body).toContain('peer_scores_sum{type="total"} -25\n');
    expect(body).toContain('peer_scores_sum{type="blocksInvalidMessageDeliveries"} 6\n');
    expect(body).toContain('peer_scores_count{type="reqRespErrorResponses"} 2\n');
  });

  it.each([
    ["192.0.2.1", 12, 4],
    ["192.0.2.1", 10, 0],
    ["127.0.0.1", 12, 0],
  ])("%s with %i peers has a colocation factor of %i", (ip, peers, factor) => {
    const records = new PeerRecords({ scoreRetentionSec: 1200, log: silentLogger });
    const all = Object.fromEntries(Array.from({ length: peers }, (_, i) => [i === 0 ? PEER : `peer ${i}`, stats(ip)]));
    takeSnapshot([PEER], { score: () => 0, stats: () => all }, 1000, { records, metrics: createP2PMetrics(noMetrics) });
    expect(records.scores.get(PEER)?.peerScores.gossip.IPColocationFactor).toBe(factor);
  });
});
