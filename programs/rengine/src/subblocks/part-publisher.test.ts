import type { PendingBlock } from "@rnode/chain";
import { PendingBlocks } from "@rnode/eth-api";
import { createMetrics, silentLogger } from "@rnode/observe";
import { ZERO_HASH } from "@rnode/primitives";
import { decodeFlashblock, FlashblockOrder } from "@rnode/protocol";
import { describe, expect, it } from "vitest";
import { PartPublisher } from "./part-publisher.ts";
import { createStreamMetrics } from "./stream-metrics.ts";

/** A part without transactions. */
const part = (index: number, parent: number, payloadId = "0x0300000000000001"): PendingBlock =>
  ({
    payloadId,
    index,
    earlier: 0,
    block: {
      header: {
        number: parent + 1,
        parentHash: new Uint8Array(32).fill(parent),
        gasLimit: 1n,
        gasUsed: 0n,
        receiptsRoot: ZERO_HASH,
        logsBloom: new Uint8Array(256),
        beneficiary: new Uint8Array(20),
        mixHash: ZERO_HASH,
        extraData: new Uint8Array(0),
        timestamp: parent,
      },
      transactions: [],
    },
    receipts: [],
    changes: { accounts: [] },
  }) as unknown as PendingBlock;

describe("a publisher of parts", () => {
  const publishing = () => {
    const [pending, order, sent] = [new PendingBlocks(), new FlashblockOrder(), [] as string[]];
    const outlet = { publish: (_: unknown, text: () => string) => void sent.push(text()) };
    const metrics = createStreamMetrics(createMetrics({ prefix: "", ofProcess: false }));
    return { pending, order, sent, publisher: new PartPublisher({ pending, order, outlet, log: silentLogger, metrics }) };
  };

  it("builds from the first part to the end, and knows its parts when they come back", () => {
    const { pending, order, sent, publisher } = publishing();
    expect(publisher.building).toBeUndefined();
    publisher.onBegin(5);
    expect(publisher.building).toBe(5); // also if all that it has was published by another leader
    for (const index of [0, 1]) publisher.onPart(part(index, 4));
    expect([publisher.building, sent.length, pending.latest?.index]).toEqual([5, 2, 1]);
    publisher.onEnd(part(1, 4), "sealed", 0);
    expect(publisher.building).toBeUndefined();
    for (const text of sent) expect(order.take(decodeFlashblock(text)).kind).toBe("duplicate");
    expect(order.take({ ...decodeFlashblock(sent[1]!), index: 2 }).kind).toBe("duplicate"); // of a block that ended
  });

  it("leaves the next block of another leader in order when its own build ends without a block", () => {
    const { order, sent, publisher } = publishing();
    publisher.onPart(part(0, 4));
    const next = decodeFlashblock(sent[0]!);
    const other = { ...next, payloadId: "0x0300000000000002", blockNumber: 6 } as const;
    expect(order.take(other).kind).toBe("first");
    publisher.onPart(part(1, 4));
    publisher.onEnd(part(1, 4), "head-changed", 0);
    expect(order.take({ ...other, index: 1, base: undefined }).kind).toBe("next");
  });

  it("ends after an error", () => {
    const { publisher } = publishing();
    publisher.onBegin(5);
    publisher.onPart(part(0, 4));
    publisher.onError(new Error("a test"));
    expect(publisher.building).toBeUndefined();
  });
});
