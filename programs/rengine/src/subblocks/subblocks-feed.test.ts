import type { PendingBlock } from "@rnode/chain";
import { PendingBlocks } from "@rnode/eth-api";
import { noFeed } from "@rnode/observe";
import { expect, it } from "vitest";
import { feedSubblocks } from "./subblocks-feed.ts";

const part = (number: number, index: number, transactions: number): PendingBlock =>
  ({ index, block: { header: { number }, transactions: Array.from({ length: transactions }) } }) as unknown as PendingBlock;

it("tells the dashboard of the latest part and of the streams", () => {
  const pending = new PendingBlocks();
  const clock = { nowMs: 1_000, monotonicMs: () => clock.nowMs };
  const publisher: { building: number | undefined } = { building: undefined };
  let read = (): unknown => undefined;
  feedSubblocks(
    { ...noFeed, state: (_, given) => (read = given) },
    {
      ...{ pending, clock, publisher, publishes: true, server: { readers: 3 }, promises: { broken: 2 } },
      sources: new Map([["wss://user:secret@example.org/key?token=1", true]]),
    },
  );
  const streams = { publishes: true, readers: 3, broken: 2, sources: [{ url: "wss://example.org", isUp: true }] };
  expect(read()).toEqual({ ...streams, latest: undefined });
  pending.set(part(7, 2, 5));
  pending.set(undefined); // a gap
  publisher.building = 7;
  clock.nowMs += 120.4;
  expect(read()).toEqual({ ...streams, latest: { number: 7, parts: 3, transactions: 5, isBuiltHere: true, ageMs: 120 } });
});
