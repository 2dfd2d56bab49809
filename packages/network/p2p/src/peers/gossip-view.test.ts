import { createMetrics } from "@rnode/observe";
import { describe, expect, it } from "vitest";
import { createP2PMetrics } from "../p2p-metrics.ts";
import { gossipView } from "./gossip-view.ts";
import { peersToForget } from "./peer-upkeep.ts";

interface Stats {
  connected: boolean;
  expire: number;
  score: number;
  behaviourPenalty: number;
  topics: Record<string, { graftTime: number }>;
}

/** Keeps scores as the router does. */
function fakeRouter() {
  const peerStats = new Map<string, Stats>();
  const score = {
    params: {
      decayInterval: 2_000,
      topics: {
        a: { meshMessageDeliveriesWeight: 0, firstMessageDeliveriesWeight: 1 },
        b: { meshMessageDeliveriesWeight: 0, firstMessageDeliveriesWeight: 0 },
      },
    },
    peerStats,
    refreshScores: () => {},
    addPenalty: (peer: string, penalty: number) => {
      peerStats.get(peer)!.behaviourPenalty += penalty;
    },
    scoreCache: new Map<string, unknown>(),
    addPeer: (peer: string) => peerStats.set(peer, { connected: true, expire: 0, score: 0, behaviourPenalty: 0, topics: {} }),
    removePeer: (peer: string) => Object.assign(peerStats.get(peer)!, { connected: false, expire: 1000 }),
    graft: () => {},
    prune: () => {},
    deliverMessage: () => {},
    rejectMessage: () => {},
    rejectInvalidMessage: () => {},
    duplicateMessage: () => {},
  };
  return {
    score,
    backoff: new Map([["a", new Map<string, number>()]]),
    getScore: (peer: string) => peerStats.get(peer)?.score ?? 0,
    dumpPeerScoreStats: () => Object.fromEntries(peerStats),
    getSubscribers: () => [],
    publish: async () => "sent",
  };
}

function setUp() {
  const time = { ms: 0, setByMs: 0 };
  const metrics = createMetrics({ prefix: "" });
  const router = fakeRouter();
  const clock = { unixMs: () => time.ms + time.setByMs, monotonicMs: () => time.ms };
  const view = gossipView(router, createP2PMetrics(metrics), clock);
  return { time, metrics, router, view };
}

describe("the view of gossip", () => {
  it.each([
    ["comes back in time", 1000, false, -50],
    ["comes back too late", 1001, false, 0],
    ["has served its ban", 0, true, 0],
  ])("the score of a peer that %s", (_, atMs, isForgotten, expected) => {
    const { time, router, view } = setUp();
    router.score.addPeer("peer");
    router.score.peerStats.get("peer")!.score = -50;
    router.score.removePeer("peer");
    if (isForgotten) {
      view.forget("peer");
      time.ms = 1;
    } else time.ms = atMs;
    router.score.addPeer("peer");
    expect(view.score("peer")).toBe(expected);
    expect(router.score.peerStats.get("peer")?.connected).toBe(true);
  });

  it("counts what happens", async () => {
    const { metrics, router } = setUp();
    const { score } = router;
    score.addPeer("peer");
    score.graft();
    score.deliverMessage();
    score.rejectMessage();
    score.rejectInvalidMessage();
    score.duplicateMessage();
    score.prune();
    score.removePeer("peer");
    expect(await router.publish()).toBe("sent");
    const { body } = await metrics.expose();
    const counted = Object.fromEntries(
      [...body.matchAll(/p2p_gossip_events_total\{type="(\w+)"\} (\d+)/g)].map(([, type, count]) => [type, count]),
    );
    expect(counted).toEqual({
      ADD_PEER: "1",
      GRAFT: "1",
      DELIVER_MESSAGE: "1",
      REJECT_MESSAGE: "2",
      DUPLICATE_MESSAGE: "1",
      PRUNE: "1",
      REMOVE_PEER: "1",
      PUBLISH_MESSAGE: "1",
    });
  });

  it("knows when a block was valid the last time, received or sent", async () => {
    const { time, router, view } = setUp();
    expect(view.lastValidMs()).toBe(Number.NEGATIVE_INFINITY);
    time.ms = 5;
    router.score.rejectMessage();
    expect(view.lastValidMs()).toBe(Number.NEGATIVE_INFINITY);
    router.score.deliverMessage();
    expect(view.lastValidMs()).toBe(5);
    time.ms = 6;
    await router.publish();
    expect(view.lastValidMs()).toBe(6);
  });

  it("takes back what invalid blocks have cost", () => {
    const { router, view } = setUp();
    router.score.addPeer("peer");
    const topic = { invalidMessageDeliveries: 2 };
    Object.assign(router.score.peerStats.get("peer")!, { topics: { a: topic } });
    router.score.scoreCache.set("peer", -400);
    view.forgiveInvalid();
    expect(topic.invalidMessageDeliveries).toBe(0);
    expect(router.score.scoreCache.size).toBe(0);
  });

  it("moves the penalty for too few deliveries in the router's own parameters", () => {
    const { router, view } = setUp();
    view.setLiveTopic("a");
    const { a, b } = router.score.params.topics;
    expect([a.meshMessageDeliveriesWeight, b.meshMessageDeliveriesWeight]).toEqual([-0.7, 0]);
  });

  it.each([-86_400_000, -15_000, 15_000, 86_400_000])(
    "moves the router's dates along when the time of day is set by %i ms",
    (byMs) => {
      const { time, router } = setUp();
      const { score, backoff } = router;
      score.addPeer("peer");
      const stats = score.peerStats.get("peer")!;
      Object.assign(stats, { expire: 500, topics: { a: { graftTime: 300 } } });
      backoff.get("a")!.set("peer", 60_000);
      score.scoreCache.set("peer", 5);
      time.setByMs = byMs;
      score.refreshScores();
      expect([stats.expire, stats.topics.a?.graftTime, backoff.get("a")!.get("peer"), score.scoreCache.size]).toEqual([
        500 + byMs,
        300 + byMs,
        60_000 + byMs,
        0,
      ]);
    },
  );

  it("penalizes no peer for its timing within a minute after the clock was set or the process stood still", () => {
    for (const disturb of ["set", "stopped"] as const) {
      const { time, router } = setUp();
      const { score } = router;
      score.addPeer("peer");
      const penaltyOf = (penalty: number): number => {
        score.addPenalty("peer", penalty);
        return score.peerStats.get("peer")!.behaviourPenalty;
      };
      const pass = (ms: number): void => {
        for (const endMs = time.ms + ms; time.ms < endMs; score.refreshScores()) time.ms += 2_000;
      };
      expect(penaltyOf(1)).toBe(1);
      if (disturb === "set") time.setByMs = -86_400_000;
      else time.ms += 75_000;
      expect(penaltyOf(7)).toBe(1);
      pass(58_000);
      expect(penaltyOf(7)).toBe(1);
      pass(2_000);
      expect(penaltyOf(1)).toBe(2);
    }
  });

  it("refuses a router that keeps scores in another way", () => {
    const metrics = createP2PMetrics(createMetrics({ prefix: "" }));
    expect(() => gossipView({}, metrics, { unixMs: () => 0, monotonicMs: () => 0 })).toThrow(TypeError);
    expect(() => gossipView({ score: { peerStats: new Map() } }, metrics, { unixMs: () => 0, monotonicMs: () => 0 })).toThrow(
      TypeError,
    );
  });
});

describe("known peers beyond the bound", () => {
  const known = [
    { id: "tagged", tagValue: 42 },
    { id: "kept", tagValue: 0 },
    { id: "a", tagValue: 0 },
    { id: "b", tagValue: 1 },
  ];
  it.each([
    [4, []],
    [3, ["a"]],
    [2, ["a", "b"]],
    [0, ["a", "b", "tagged"]],
  ])("of %i, the least valued are forgotten: %j", (max, forgotten) =>
    expect(peersToForget(known, max, (peer) => peer === "kept")).toEqual(forgotten),
  );
});
