import type { L1BlockRef, L2BlockRef, SpanBlock } from "@rnode/protocol";
import { expect, it } from "vitest";
import { hashOf } from "../testing/test-config.ts";
import type { SpanRead } from "./read-batch.ts";
import { SpanQueue } from "./span-queue.ts";

const l1 = (number: number): L1BlockRef => ({ number, hash: hashOf(number), parentHash: hashOf(number - 1), timestamp: 1000 });
const safeHead = { timestamp: 1020 } as L2BlockRef;
const block = (timestamp: number, epochNumber: number): SpanBlock => ({ timestamp, epochNumber, transactions: [] });

function read(...blocks: readonly SpanBlock[]): SpanRead {
  const span = { blocks: () => blocks.values() };
  return { kind: "span", channelId: "0x01", parentCheck: "0x", l1OriginCheck: "0x", span: span as unknown as SpanRead["span"] };
}

it("takes the blocks after the safe head", () => {
  const queue = new SpanQueue();
  expect(queue.fill(read(block(1018, 99), block(1020, 100), block(1022, 100)), [l1(100)], safeHead)).toBe(true);
  expect(queue.nextTimestamp).toBe(1022);
  expect(queue.pop()).toMatchObject({ timestamp: 1022, epoch: { number: 100, hash: hashOf(100) } });
  expect(queue.isEmpty).toBe(true);
});

it("takes nothing if the first of them has an origin that is not known, or if there are none", () => {
  const queue = new SpanQueue();
  expect(queue.fill(read(block(1022, 99), block(1024, 100)), [l1(100)], safeHead)).toBe(false);
  expect(queue.isEmpty).toBe(true);
  expect(queue.fill(read(block(1020, 100)), [l1(100)], safeHead)).toBe(false);
  expect(queue.isEmpty).toBe(true);
});
