import type { HashedPayload, L2BlockRef } from "@rnode/protocol";
import { describe, expect, it } from "vitest";
import { type QueuedPayload, UnsafeQueue } from "./unsafe-queue.ts";

const payload = (number: number, seed = 0, transactionBytes = 0): QueuedPayload => ({
  ref: { hash: `0x${number}${seed}`, number } as L2BlockRef,
  isFromPeers: true,
  envelope: {
    executionPayload: { transactions: transactionBytes === 0 ? [] : [new Uint8Array(transactionBytes)] },
  } as unknown as HashedPayload,
});
const limits = { maxPayloads: 100, maxBytes: 100_000 };

/** The hashes in the order in which they leave the queue. */
function drain(queue: UnsafeQueue): string[] {
  const hashes: string[] = [];
  for (let lowest = queue.peek(); lowest !== undefined; lowest = queue.peek()) {
    hashes.push(lowest.ref.hash);
    queue.remove(lowest.ref.hash);
  }
  return hashes;
}

describe("UnsafeQueue", () => {
  it("gives the lowest number first, the earlier arrival among equals", () => {
    const queue = new UnsafeQueue();
    for (const [number, seed] of [
      [5, 0],
      [3, 0],
      [9, 0],
      [3, 1],
      [4, 0],
    ] as const)
      queue.push(payload(number, seed));
    expect(queue.newest?.ref.hash).toBe("0x90");
    expect(drain(queue)).toEqual(["0x30", "0x31", "0x40", "0x50", "0x90"]);
    expect(queue.sizeBytes).toBe(0);
  });

  it("refuses what it has and what is too large", () => {
    const queue = new UnsafeQueue({ ...limits, maxBytes: 5_000 });
    expect(queue.push(payload(1))).toBe("queued");
    expect(queue.push(payload(1))).toBe("duplicate");
    expect(queue.push(payload(2, 0, 4_000))).toBe("too-large");
    queue.remove("0x10");
    expect(queue.push(payload(1))).toBe("queued");
  });

  it("drops the highest when it is full, and counts them", () => {
    const queue = new UnsafeQueue({ ...limits, maxBytes: 3_500 });
    expect([4, 2, 3, 5].map((number) => queue.push(payload(number)))).toEqual(["queued", "queued", "queued", "full"]);
    expect(queue.length).toBe(3);
    expect(queue.droppedCount).toBe(1);
    expect(drain(queue)).toEqual(["0x20", "0x30", "0x40"]);
    expect(queue.sizeBytes).toBe(0);
  });

  it("drops first what the head has passed", () => {
    const queue = new UnsafeQueue({ ...limits, maxPayloads: 3 });
    for (const number of [1, 2, 9]) queue.push(payload(number), 0);
    expect(queue.push(payload(8), 2)).toBe("queued");
    expect(queue.push(payload(7), 2)).toBe("queued");
    expect(queue.push(payload(6), 2)).toBe("queued");
    expect(drain(queue)).toEqual(["0x60", "0x70", "0x80"]);
  });

  it("fills a gap that does not fit, from its upper end down", () => {
    const queue = new UnsafeQueue({ ...limits, maxPayloads: 3 });
    expect([9, 8, 7, 6, 5, 4].map((number) => queue.push(payload(number)))).toEqual(Array(6).fill("queued"));
    expect(drain(queue)).toEqual(["0x40", "0x50", "0x60"]);
  });

  it("removes one that is not the lowest any more", () => {
    const queue = new UnsafeQueue(limits);
    for (const number of [5, 6, 4]) queue.push(payload(number));
    queue.remove("0x50");
    queue.remove("0x50");
    expect(queue.length).toBe(2);
    expect(drain(queue)).toEqual(["0x40", "0x60"]);
  });
});
