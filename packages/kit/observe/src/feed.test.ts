import { describe, expect, it } from "vitest";
import { FeedSource } from "./feed.ts";

describe("feed", () => {
  it("shows what is remembered, then what changes; the latest value of each key", () => {
    const feed = new FeedSource();
    feed.put("block", 1, { gas: 1 });
    feed.put("block", 1, { gas: 2 });
    const { known, end } = feed.watch();
    expect(known.entries).toEqual([["block", 1, { gas: 2 }]]);
    expect(feed.changes()).toEqual({ entries: [], left: 0 });
    feed.put("block", 2, { gas: 3 });
    feed.put("batch", "a", "sent");
    expect(feed.changes().entries).toEqual([
      ["block", 2, { gas: 3 }],
      ["batch", "a", "sent"],
    ]);
    expect(feed.changes().entries).toEqual([]);
    end();
    end();
    expect(feed.isWatched).toBe(false);
  });

  it("is bounded by count, for what is remembered and for what is sent", () => {
    const feed = new FeedSource({ remembered: 4, perMessage: 2 });
    for (let key = 0; key < 10; key++) feed.put("block", key, key);
    const { known, end } = feed.watch();
    expect(known.entries.map(([, key]) => key)).toEqual([6, 7, 8, 9]);
    for (let key = 10; key < 13; key++) feed.put("block", key, key);
    expect(feed.changes()).toEqual({
      entries: [
        ["block", 11, 11],
        ["block", 12, 12],
      ],
      left: 1,
    });
    end();
  });

  it("reads state and the past only when asked, and keeps samples", async () => {
    const feed = new FeedSource();
    let reads = 0;
    feed.state("heads", () => ({ unsafe: ++reads }));
    feed.state("unknown", () => undefined);
    feed.state("failing", async () => {
      throw new Error("no answer");
    });
    feed.past(() => [["block", 7, { gas: 7 }]]);
    feed.sampled("lag", () => ({ safe: 3 }));
    feed.put("block", 8, { gas: 8 });
    expect(reads).toBe(0);
    feed.sample(1000);
    expect(feed.watch().known.entries).toEqual([
      ["block", 7, { gas: 7 }],
      ["block", 8, { gas: 8 }],
      ["lag", 1000, { safe: 3 }],
    ]);
    feed.state("peers", async () => 3);
    expect(feed.states()).toEqual([["state", "heads", { unsafe: 1 }]]);
    await Promise.resolve(); // asynchronous values arrive by the next reading
    expect(feed.states()).toContainEqual(["state", "peers", 3]);
  });

  it("marks nothing as changed while nobody looks", () => {
    const feed = new FeedSource();
    const first = feed.watch();
    first.end();
    feed.put("block", 1, 1);
    const second = feed.watch();
    expect(second.known.entries).toHaveLength(1);
    expect(feed.changes().entries).toEqual([]);
    second.end();
  });
});
