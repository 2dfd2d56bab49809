import type { ExecutionPayloadEnvelope } from "@rnode/protocol";
import { describe, expect, it } from "vitest";
import { UnsafeQueue } from "./unsafe-queue.ts";

const envelope = (blockNumber: number, seed = 0, transactionBytes = 0): ExecutionPayloadEnvelope =>
  ({
    executionPayload: {
      blockNumber,
      blockHash: Uint8Array.of(blockNumber, seed),
      parentHash: Uint8Array.of(blockNumber - 1, seed),
      transactions: transactionBytes === 0 ? [] : [new Uint8Array(transactionBytes)],
    },
  }) as unknown as ExecutionPayloadEnvelope;

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
      queue.push(envelope(number, seed));
    expect(Array.from({ length: 5 }, () => queue.pop()?.hash)).toEqual(["0x0300", "0x0301", "0x0400", "0x0500", "0x0900"]);
    expect(queue.pop()).toBeUndefined();
    expect(queue.sizeBytes).toBe(0);
  });

  it("refuses what it has and what is too large", () => {
    const queue = new UnsafeQueue(5_000);
    expect(queue.push(envelope(1))).toBe("queued");
    expect(queue.push(envelope(1))).toBe("duplicate");
    expect(queue.push(envelope(2, 0, 4_000))).toBe("too-large");
    queue.pop();
    expect(queue.push(envelope(1))).toBe("queued");
  });

  it("drops the lowest when it is full, and counts them", () => {
    const queue = new UnsafeQueue(3_500);
    for (const number of [4, 2, 3, 5]) expect(queue.push(envelope(number))).toBe("queued");
    expect(queue.length).toBe(3);
    expect(queue.peek()?.number).toBe(3);
    expect(queue.droppedCount).toBe(1);
  });
});
