import type { L1BlockRef, L2BlockRef } from "@rnode/protocol";
import { describe, expect, it } from "vitest";
import { SILENT_OBSERVER } from "../observer.ts";
import { EXHAUSTED } from "../pull.ts";
import { derivationRules } from "../rules.ts";
import { forksUpTo } from "../testing/sim.ts";
import { hashOf, testConfig } from "../testing/test-config.ts";
import { BatchQueue } from "./batch-queue.ts";
import { L1Window } from "./l1-window.ts";
import type { ReadBatch } from "./read-batch.ts";

const config = testConfig({ forkTimes: forksUpTo("granite") });
const l1 = (number: number): L1BlockRef => ({
  number,
  hash: hashOf(number),
  parentHash: hashOf(number - 1),
  timestamp: 1000 + (number - 100) * 12,
});
const safeHead: L2BlockRef = {
  number: 50,
  hash: hashOf(500),
  parentHash: hashOf(499),
  timestamp: 1020,
  l1Origin: { number: 100, hash: hashOf(100) },
  sequenceNumber: 0,
};
const singular = (timestamp: number, epoch: number, mark: number): ReadBatch => ({
  kind: "singular",
  channelId: "0x01",
  batch: {
    parentHash: safeHead.hash,
    epoch: { number: epoch, hash: hashOf(epoch) },
    timestamp,
    transactions: [Uint8Array.of(2, mark)],
  },
});

/** A queue at L1 block 100, into which these batches come. */
function queueWith(...reads: ReadBatch[]) {
  const position = { origin: l1(100), rules: derivationRules(config, 1000), systemConfig: config.genesis.systemConfig };
  const window = new L1Window();
  window.reset(position.origin);
  const previous = {
    nextParentHash: undefined,
    flush: () => {},
    next: async () => {
      const value = reads.shift();
      return value === undefined ? EXHAUSTED : ({ kind: "value", value } as const);
    },
  };
  const l2 = {} as ConstructorParameters<typeof BatchQueue>[4];
  const queue = new BatchQueue(config, position, window, previous, l2, SILENT_OBSERVER);
  /** Pulls until a batch comes, or nothing more does. @returns the mark of the batch */
  const take = async (): Promise<number | undefined> => {
    for (;;) {
      const pulled = await queue.next(safeHead);
      if (pulled.kind === "value") return pulled.value.batch.transactions[0]![1];
      if (pulled.kind === "exhausted") return undefined;
    }
  };
  return { position, take };
}

describe("the batch queue", () => {
  it("takes the first batch that fits", async () => {
    expect(await queueWith(singular(1022, 100, 1), singular(1022, 100, 2)).take()).toBe(1);
  });

  it("keeps the batches after the accepted one", async () => {
    const { take } = queueWith(singular(1022, 101, 1), singular(1022, 100, 2), singular(1022, 100, 3));
    expect(await take()).toBeUndefined();
  });

  it("decides on nothing while a batch before it is undecided, and goes on with that one once it is decided", async () => {
    const { position, take } = queueWith(singular(1022, 101, 1), singular(1022, 100, 2));
    expect(await take()).toBeUndefined();
    position.origin = l1(101);
    expect(await take()).toBe(1);
    expect(await take()).toBe(2); // the first one was not built
  });

  it("passes by batches of the future and keeps them", async () => {
    expect(await queueWith(singular(1024, 100, 1), singular(1022, 100, 2)).take()).toBe(2);
  });
});
