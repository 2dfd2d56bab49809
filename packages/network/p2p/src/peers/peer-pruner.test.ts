import { noMetrics, silentLogger } from "@rnode/observe";
import { describe, expect, it } from "vitest";
import { createP2PMetrics } from "../p2p-metrics.ts";
import type { PeerConnection } from "./peer-host.ts";
import { PeerPruner } from "./peer-pruner.ts";

const NOW = 1_000_000;

interface TestPeer {
  readonly worth?: number;
  readonly ageMs?: number;
  readonly direction?: "inbound" | "outbound";
  readonly isProtected?: boolean;
}

function setUp(peers: Record<string, TestPeer>, { low = 2, high = 3 } = {}) {
  const time = { ms: NOW, isShortOfMemory: false };
  const all = new Map<string, readonly PeerConnection[]>(
    Object.entries(peers).map(([id, { ageMs = 60_000, direction = "outbound" }]) => [
      id,
      [{ direction, remoteAddress: "", openedMs: NOW - ageMs, streams: 1 }],
    ]),
  );
  const pruner = new PeerPruner({
    low,
    high,
    graceMs: 30_000,
    connections: () => all,
    isProtected: (peer) => peers[peer]?.isProtected === true,
    worthOf: async (peer) => peers[peer]?.worth ?? 0,
    disconnect: async (peer) => {
      all.delete(peer);
    },
    isUnderPressure: () => time.isShortOfMemory,
    nowMs: () => time.ms,
    metrics: createP2PMetrics(noMetrics),
    log: silentLogger,
  });
  const connect = (id: string, ageMs = 60_000) =>
    all.set(id, [{ direction: "inbound", remoteAddress: "", openedMs: time.ms - ageMs, streams: 1 }]);
  return { pruner, all, time, connect };
}

describe("pruning", () => {
  it("does nothing up to the high tide", async () => {
    const { pruner } = setUp({ a: {}, b: {}, c: {} });
    expect(await pruner.prune()).toEqual([]);
  });

  it("above it, disconnects those of least value until the low tide is reached", async () => {
    const { pruner, all } = setUp({ a: { worth: 42 }, b: { worth: -7 }, c: { worth: 0 }, d: { worth: 43 } });
    expect(await pruner.prune()).toEqual(["b", "c"]);
    expect([...all.keys()]).toEqual(["a", "d"]);
  });

  it("among equals takes those that connected to us, then the newest", async () => {
    const { pruner } = setUp({
      a: { direction: "inbound", ageMs: 90_000 },
      b: { ageMs: 40_000 },
      c: { direction: "inbound", ageMs: 50_000 },
      d: { ageMs: 70_000 },
    });
    expect(await pruner.prune()).toEqual(["c", "a"]);
  });

  it("takes no protected peer, and none within its grace", async () => {
    const { pruner } = setUp({ a: { worth: -500, isProtected: true }, b: { worth: -400, ageMs: 29_999 }, c: {}, d: { worth: 9 } });
    expect(await pruner.prune()).toEqual(["c", "d"]);
  });

  it("is silent for a minute, unless there are twice as many as the high tide or memory is short", async () => {
    const { pruner, time, connect } = setUp({ a: {}, b: {}, c: {}, d: {} });
    expect(await pruner.prune()).toHaveLength(2);
    for (const id of ["e", "f"]) connect(id);
    time.ms += 59_999;
    expect(await pruner.prune()).toEqual([]);
    time.ms += 1;
    expect(await pruner.prune()).toHaveLength(2);
    for (const id of ["g", "h", "i", "j", "k"]) connect(id, 0);
    expect(await pruner.prune()).toHaveLength(5);
    for (const id of ["l", "m"]) connect(id);
    expect(await pruner.prune()).toEqual([]);
    time.isShortOfMemory = true;
    expect(await pruner.prune()).toHaveLength(2);
  });
});
