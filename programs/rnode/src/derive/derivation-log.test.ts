import { bytesToHex, type Hex } from "@rnode/primitives";
import { ManualClock } from "@rnode/primitives/testing";
import type { Frame, L1BlockRef, L2BlockRef } from "@rnode/protocol";
import { describe, expect, it } from "vitest";
import { GENESIS_TIME_SEC, testConfig } from "../testing/fake-chain.ts";
import { recordingLogger } from "../testing/recording-logger.ts";
import { DerivationLog } from "./derivation-log.ts";

const hash = (byte: number): Hex => bytesToHex(new Uint8Array(32).fill(byte));
const l1Block = (number: number): L1BlockRef => ({ number, hash: hash(number), parentHash: hash(number - 1), timestamp: 0 });
const frame = (channel: number, number: number): Frame => ({
  channelId: new Uint8Array(16).fill(channel),
  number,
  data: new Uint8Array(100),
  isLast: false,
});
const channelId = (channel: number): Hex => bytesToHex(new Uint8Array(16).fill(channel));

function create() {
  const { log, logs } = recordingLogger();
  const clock = new ManualClock(GENESIS_TIME_SEC * 1_000);
  const watch = new DerivationLog({ config: testConfig(), clock, log });
  const base = { l1Origin: { number: 10, hash: hash(10) } } as L2BlockRef;
  watch.onReset(base);
  return { logs, clock, watch, observer: watch.observer, warnings: () => logs.filter(({ level }) => level === "warn") };
}

describe("what the log says of the batcher's data", () => {
  it("warns of dropped data with its transaction, the reason and what is lost", () => {
    const { observer, warnings } = create();
    observer.onDataDropped({ block: l1Block(11), transactionHash: hash(1), reason: "unknown-version" });
    expect(warnings()).toEqual([
      {
        level: "warn",
        text: "batcher data dropped",
        fields: { l1Block: 11, transaction: hash(1), reason: "unknown-version", lost: "all its frames" },
      },
    ]);
  });

  it("names the transaction of a dropped frame, and those of a channel that is lost", () => {
    const { observer, warnings } = create();
    const [first, second] = [frame(7, 0), frame(7, 2)];
    observer.onFrame({ block: l1Block(11), transactionHash: hash(1), frame: first });
    observer.onFrame({ block: l1Block(12), transactionHash: hash(2), frame: second });
    observer.onFrameDropped({ block: l1Block(12), frame: second, reason: "out-of-order" });
    observer.onChannel({ block: l1Block(40), channelId: channelId(7), event: "timed-out", sizeBytes: 300 });
    expect(warnings().map(({ fields }) => fields)).toMatchObject([
      { transaction: hash(2), channel: channelId(7), frame: 2, reason: "out-of-order", lost: "100 bytes of the channel" },
      { transactions: `${hash(1)} ${hash(2)}`, channel: channelId(7), reason: "timed-out" },
    ]);
  });

  it("says which L2 blocks are lost with a batch", () => {
    const { observer, warnings } = create();
    observer.onFrame({ block: l1Block(11), transactionHash: hash(1), frame: frame(7, 0) });
    const batch = {
      type: "span" as const,
      channelId: channelId(7),
      l1InclusionBlock: l1Block(12),
      timestamp: GENESIS_TIME_SEC + 8,
      epochNumber: 3,
      blockCount: 5,
      transactionCount: 21,
      fromSpan: false,
    };
    observer.onBatch({ batch, verdict: { kind: "drop", reason: "span-origin-mismatch" } });
    observer.onBatch({ batch, verdict: { kind: "accept" } });
    expect(warnings().map(({ fields }) => fields)).toMatchObject([
      {
        l1Block: 12,
        blocks: "blocks 4 to 8",
        transactions: hash(1),
        reason: "span-origin-mismatch",
        lost: "5 L2 blocks with 21 transactions",
      },
    ]);
  });

  it("tells everything at debug, and no more than that of L1 blocks that are read again after a start", () => {
    const { observer, logs, warnings } = create();
    observer.onL1Block(l1Block(9));
    observer.onData({ block: l1Block(9), transactionHash: hash(1), source: "blob", blobIndex: 3, sizeBytes: 131_072 });
    observer.onFrame({ block: l1Block(9), transactionHash: hash(1), frame: frame(7, 4) });
    observer.onFrameDropped({ block: l1Block(10), frame: frame(7, 4), reason: "no-channel" });
    observer.onChannel({ block: l1Block(10), channelId: channelId(7), event: "opened", sizeBytes: 0 });
    expect(warnings()).toEqual([]);
    expect(logs.map(({ text }) => text)).toEqual(["reading L1 block", "batcher data", "frame", "frame dropped", "channel"]);
  });

  it("does not let whoever has the key fill the log", () => {
    const { observer, clock, warnings, logs } = create();
    const drop = (): void => observer.onDataDropped({ block: l1Block(11), transactionHash: hash(1), reason: "empty" });
    for (let i = 0; i < 100; i++) drop();
    expect(warnings()).toHaveLength(20);
    clock.advance(60_000);
    drop();
    expect(warnings().slice(20)).toMatchObject([{ fields: { count: 80 } }, { text: "batcher data dropped" }]);
    expect(logs.filter(({ text }) => text === "batcher data dropped")).toHaveLength(101);
  });
});
