import type { L1BlockHeader } from "@rnode/derivation";
import { ManualClock } from "@rnode/primitives/testing";
import { describe, expect, it } from "vitest";
import { HeadPoller } from "./head-poller.ts";
import type { L1BlockLabel } from "./l1-client.ts";

const block = (number: number): L1BlockHeader => ({
  hash: `0x${number.toString(16).padStart(64, "0")}`,
  number,
  parentHash: `0x${(number - 1).toString(16).padStart(64, "0")}`,
  timestamp: number * 12,
  baseFeePerGas: 1n,
  mixHash: new Uint8Array(32),
});

const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function pass(clock: ManualClock, ms: number): Promise<void> {
  clock.advance(ms);
  return settle();
}

describe("HeadPoller", () => {
  it("announces each label when it changes, at its own interval, and goes on after a failure", async () => {
    const clock = new ManualClock();
    const heads: Record<L1BlockLabel, L1BlockHeader | undefined> = { latest: block(10), safe: undefined, finalized: undefined };
    const seen: string[] = [];
    const warnings: string[] = [];
    let isDown = false;
    const poller = new HeadPoller(
      { headIntervalMs: 1_000, epochIntervalMs: 3_000 },
      {
        clock,
        l1: {
          blockByLabel: async (label) => {
            if (isDown) throw new Error("down");
            return heads[label];
          },
        },
        log: { warn: (_, fields) => warnings.push(String(fields?.label)), info: (text) => warnings.push(text) },
        onChange: (label, { number }) => seen.push(`${label} ${number}`),
      },
    );
    poller.start();
    await settle();
    expect(seen).toEqual(["latest 10"]);
    heads.safe = block(8);
    heads.finalized = block(6);
    await pass(clock, 1_000);
    expect(seen).toEqual(["latest 10"]);
    heads.latest = block(11);
    await pass(clock, 1_000);
    await pass(clock, 1_000);
    expect(seen).toEqual(["latest 10", "latest 11", "safe 8", "finalized 6"]);
    isDown = true;
    for (let i = 0; i < 5; i++) await pass(clock, 1_000);
    expect(warnings).toEqual(["latest", "safe", "finalized"]); // once each, not in every round
    for (let i = 0; i < 30; i++) await pass(clock, 1_000);
    expect(warnings.filter((label) => label === "latest")).toHaveLength(2);
    isDown = false;
    heads.latest = block(12);
    for (let i = 0; i < 3; i++) await pass(clock, 1_000);
    expect(warnings.filter((text) => text === "L1 answers again")).toHaveLength(3);
    expect(seen.at(-1)).toBe("latest 12");
    await poller.close();
  });

  it("does not poll with an interval of 0", async () => {
    const asked: string[] = [];
    const poller = new HeadPoller(
      { headIntervalMs: 0, epochIntervalMs: -1 },
      {
        clock: new ManualClock(),
        l1: {
          blockByLabel: async (label) => {
            asked.push(label);
            return undefined;
          },
        },
        log: { warn: () => {}, info: () => {} },
        onChange: () => {},
      },
    );
    poller.start();
    await settle();
    await poller.close();
    expect(asked).toEqual([]);
  });

  it("follows a subscription instead of polling, renews it after a pause, and asks when it is silent", async () => {
    const clock = new ManualClock();
    const seen: number[] = [];
    const polled: number[] = [];
    let head = 10;
    let subscriptions = 0;
    let closed = 0;
    let say: (block: L1BlockHeader | undefined) => void = () => {};
    let end = (): void => {};
    const poller = new HeadPoller(
      { headIntervalMs: 1_000, epochIntervalMs: 0 },
      {
        clock,
        l1: {
          blockByLabel: async () => {
            polled.push(head);
            return block(head);
          },
          subscribeToHeads: async (onHead) => {
            subscriptions++;
            say = onHead;
            return { ended: new Promise((resolve) => (end = resolve)), close: () => closed++ };
          },
        },
        log: { info: () => {}, warn: () => {} },
        onChange: (_, { number }) => seen.push(number),
      },
    );
    poller.start();
    await settle();
    for (head = 11; head <= 13; head++) {
      await pass(clock, 12_000);
      say(block(head));
    }
    expect([seen, polled, subscriptions]).toEqual([[10, 11, 12, 13], [10], 1]);
    head = 14; // without a notification
    await pass(clock, 60_000);
    await pass(clock, 60_000);
    expect(seen).toEqual([10, 11, 12, 13, 14]);
    head = 15;
    say(undefined); // a notification without a block
    await settle();
    expect(seen.at(-1)).toBe(15);
    end();
    await settle();
    await pass(clock, 9_999);
    expect(subscriptions).toBe(1);
    await pass(clock, 1);
    expect(subscriptions).toBe(2);
    head = 16;
    say(block(16));
    expect(seen.at(-1)).toBe(16);
    await poller.close();
    expect(closed).toBe(1);
  });

  it("polls while no endpoint in use can be subscribed to", async () => {
    const clock = new ManualClock();
    const seen: number[] = [];
    let isWebSocket = false;
    let head = 10;
    let subscriptions = 0;
    const poller = new HeadPoller(
      { headIntervalMs: 1_000, epochIntervalMs: 0 },
      {
        clock,
        l1: {
          blockByLabel: async () => block(head),
          subscribeToHeads: async () =>
            isWebSocket ? { ended: new Promise<void>(() => subscriptions++), close: () => {} } : undefined,
        },
        log: { info: () => {}, warn: () => {} },
        onChange: (_, { number }) => seen.push(number),
      },
    );
    poller.start();
    await settle();
    head = 11;
    await pass(clock, 1_000);
    isWebSocket = true; // back on the first endpoint
    head = 12;
    await pass(clock, 1_000);
    expect([seen, subscriptions]).toEqual([[10, 11, 12], 1]);
    await poller.close();
  });
});
