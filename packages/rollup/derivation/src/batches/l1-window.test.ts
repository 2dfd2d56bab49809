import type { L1BlockRef, L2BlockRef } from "@rnode/protocol";
import { describe, expect, it } from "vitest";
import { hashOf, testConfig } from "../testing/test-config.ts";
import { L1Window } from "./l1-window.ts";

const l1 = (number: number, timestamp = 12 * number): L1BlockRef => ({
  number,
  hash: hashOf(number),
  parentHash: hashOf(number - 1),
  timestamp,
});
const safe = (origin: number, timestamp: number, hash = hashOf(origin)): L2BlockRef => ({
  number: 7,
  hash: hashOf(70),
  parentHash: hashOf(69),
  timestamp,
  l1Origin: { number: origin, hash },
  sequenceNumber: 0,
});
const config = testConfig({ seqWindowSize: 3 });

function windowOf(first: number, last: number, safeHead: L2BlockRef): L1Window {
  const window = new L1Window();
  window.reset(l1(first));
  for (let number = first; number <= last; number++) window.update(l1(number), safeHead);
  return window;
}

describe("the window", () => {
  it("begins with the safe head's origin, or the block after it; anything else is a reset", () => {
    const window = windowOf(100, 102, safe(100, 1200));
    expect(window.mismatch(safe(100, 1200))).toBeUndefined();
    expect(window.mismatch(safe(99, 1200))).toBeUndefined();
    expect(window.mismatch(safe(100, 1200, hashOf(1)))).toMatchObject({ kind: "reset", reason: "origin-mismatch" });
    expect(window.mismatch(safe(98, 1200))).toMatchObject({ kind: "reset", reason: "origin-mismatch" });
  });

  it("leaves the blocks before the safe head's origin, and takes them back", () => {
    const window = windowOf(100, 103, safe(100, 1200));
    window.update(l1(103), safe(102, 1224));
    expect(window.blocks.map(({ number }) => number)).toEqual([102, 103]);
    window.update(l1(103), safe(100, 1200));
    expect(window.blocks.map(({ number }) => number)).toEqual([100, 101, 102, 103]);
  });

  it("does not collect blocks before the safe head's origin", () => {
    expect(windowOf(98, 100, safe(100, 1200)).blocks.map(({ number }) => number)).toEqual([100]);
  });
});

describe("empty batches", () => {
  it("come when the window has ended, in its last block only once that is used up", () => {
    const head = safe(100, 1200);
    const empty = { timestamp: 1202, epoch: { number: 100, hash: hashOf(100) }, parentHash: head.hash, transactions: [] };
    expect(windowOf(100, 102, head).nextEmptyBatch(config, head, true)).toBeUndefined();
    expect(windowOf(100, 103, head).nextEmptyBatch(config, head, false)).toBeUndefined();
    expect(windowOf(100, 103, head).nextEmptyBatch(config, head, true)).toEqual(empty);
    expect(windowOf(100, 104, head).nextEmptyBatch(config, head, false)).toEqual(empty);
  });

  it("need the next epoch", () => {
    const head = safe(100, 1200);
    expect(windowOf(100, 100, head).nextEmptyBatch({ ...config, seqWindowSize: 0 }, head, true)).toBeUndefined();
  });

  it("stay in their epoch until the next one's time, then the window moves on", () => {
    const head = safe(100, 1210);
    const window = windowOf(100, 104, head);
    expect(window.nextEmptyBatch(config, head, true)).toBeUndefined();
    expect(window.blocks[0]?.number).toBe(101);
    expect(window.nextEmptyBatch(config, head, true)).toMatchObject({ epoch: { number: 101 }, timestamp: 1212 });
  });

  it("are made for each epoch, even if the time of the one after it has come", () => {
    const head = safe(100, 1300);
    const window = windowOf(100, 106, head);
    expect(window.nextEmptyBatch(config, head, true)).toBeUndefined();
    expect(window.nextEmptyBatch(config, head, true)).toMatchObject({ epoch: { number: 101 }, timestamp: 1302 });
  });
});
