import type { PartVerdict, PendingBlock } from "@rnode/chain";
import { PendingBlocks } from "@rnode/eth-api";
import { createLogger, createMetrics } from "@rnode/observe";
import { bytesToHex, type Hex, ZERO_HASH } from "@rnode/primitives";
import { encodeFlashblock, type Flashblock, FlashblockOrder } from "@rnode/protocol";
import { describe, expect, it } from "vitest";
import { PartFollower } from "./part-follower.ts";
import { createStreamMetrics } from "./stream-metrics.ts";

/** A part of block `number` on the block whose hash is all `parent`. */
function part(number: number, index: number, parent = number - 1, seed = number): Flashblock {
  return {
    payloadId: `0x03${seed.toString(16).padStart(14, "0")}`,
    index,
    base:
      index > 0
        ? undefined
        : {
            parentBeaconBlockRoot: ZERO_HASH,
            parentHash: new Uint8Array(32).fill(parent),
            feeRecipient: new Uint8Array(20),
            prevRandao: ZERO_HASH,
            blockNumber: number,
            gasLimit: 30_000_000n,
            timestamp: number,
            extraData: new Uint8Array(0),
            baseFeePerGas: 1n,
          },
    diff: {
      stateRoot: ZERO_HASH,
      receiptsRoot: ZERO_HASH,
      logsBloom: new Uint8Array(256),
      gasUsed: BigInt(index),
      blockHash: ZERO_HASH,
      transactions: [],
      withdrawalsRoot: ZERO_HASH,
    },
    blockNumber: number,
  };
}

const textOf = (each: Flashblock): string => encodeFlashblock(each, { receipts: new Map(), balances: new Map() });

/** A follower on a chain that executes parts whose parent is the head. */
function following(refuses: (part: Flashblock) => boolean = () => false) {
  const pending = new PendingBlocks();
  const relayed: string[] = [];
  const log: string[] = [];
  const executed: [number, number][] = [];
  let onHead = (): void => {};
  let head = 1;
  let parent: Hex | undefined;
  const state: { building: number | undefined; nowMs: number } = { building: undefined, nowMs: 0 };
  const order = new FlashblockOrder();
  const factory = createMetrics({ prefix: "", ofProcess: false });
  const headHash = (): Hex => bytesToHex(new Uint8Array(32).fill(head));
  const follower = new PartFollower({
    chain: {
      head: () => ({ hash: headHash(), number: head }),
      onHeadChange: (listener) => {
        onHead = () => listener(undefined as never);
        return () => {};
      },
      executePart(given): PartVerdict {
        if (given.base !== undefined) parent = bytesToHex(given.base.parentHash);
        if (parent !== headHash()) return { kind: "other-parent" };
        if (refuses(given)) return { kind: "refused", fault: "gas", reason: "a test" };
        executed.push([given.blockNumber, given.index]);
        return { kind: "executed", pending: { payloadId: given.payloadId, index: given.index } as PendingBlock };
      },
    },
    pending,
    relay: (_, text) => relayed.push(text),
    order,
    building: () => state.building,
    log: createLogger({ level: "info", format: "logfmt", destination: { write: (line) => log.push(line) } }),
    metrics: createStreamMetrics(factory),
    nowMs: () => state.nowMs,
  });
  return {
    order,
    pending,
    relayed,
    log,
    executed,
    state,
    take: (...parts: Flashblock[]) => {
      for (const each of parts) follower.take(textOf(each), "test");
    },
    takeText: (text: string | undefined) => follower.take(text, "test"),
    moveHead(number: number): void {
      head = number;
      onHead();
    },
    metric: async (name: string): Promise<number> => {
      const line = (await factory.expose()).body.split("\n").find((each) => each.startsWith(name));
      return Number(line?.split(" ").at(-1) ?? 0);
    },
  };
}

describe("a follower of parts", () => {
  it("executes and relays parts in order, once", () => {
    const f = following();
    f.take(part(2, 0), part(2, 0), part(2, 1), part(2, 0), part(2, 2));
    expect(f.executed).toEqual([2, 2, 2].map((number, index) => [number, index]));
    expect(f.relayed).toHaveLength(3);
    expect(f.pending.latest).toMatchObject({ index: 2 });
  });

  it("keeps parts until their parent is the head", () => {
    const f = following();
    f.take(part(2, 0), part(3, 0), part(3, 1));
    expect(f.executed).toEqual([[2, 0]]);
    f.moveHead(2);
    expect(f.executed).toEqual([
      [2, 0],
      [3, 0],
      [3, 1],
    ]);
    f.moveHead(3);
    f.take(part(3, 2)); // too late
    expect(f.executed).toHaveLength(3);
  });

  it("falls back to the head after a part that does not fit, until the next block", async () => {
    const f = following(({ blockNumber, index }) => blockNumber === 2 && index === 1);
    f.take(part(2, 0));
    expect(f.pending.latest).toBeDefined();
    f.take(part(2, 1), part(2, 2));
    expect(f.pending.latest).toBeUndefined();
    expect(await f.metric('subblocks_refused_total{reason="gas"}')).toBe(1);
    expect(f.log).toMatchObject([expect.stringContaining("subblock dropped")]);
    f.take(part(2, 0, 1, 9)); // another build of it
    expect(f.pending.latest).toMatchObject({ index: 0 });
  });

  it("falls back to the head after a gap, until another source has the missing part", async () => {
    const f = following();
    f.take(part(2, 0), part(2, 2));
    expect(f.pending.latest).toBeUndefined();
    expect(await f.metric('subblocks_refused_total{reason="gap"}')).toBe(1);
    f.take(part(2, 1));
    expect(f.pending.latest).toMatchObject({ index: 1 });
    f.take(part(2, 2));
    expect(f.executed.length).toBe(3);
  });

  it("keeps parts before a gap until their parent is the head", () => {
    const f = following();
    f.take(part(3, 0), part(3, 2));
    f.moveHead(2);
    expect(f.executed).toEqual([[3, 0]]);
  });

  it("ends a block with a conflict", async () => {
    const f = following();
    f.take(part(2, 0), { ...part(2, 1), blockNumber: 7 });
    expect(f.pending.latest).toBeUndefined();
    expect(await f.metric('subblocks_refused_total{reason="conflict"}')).toBe(1);
    f.take(part(2, 1), part(2, 2));
    expect(f.executed).toEqual([[2, 0]]);
  });

  it("goes on with a block when a slow source begins an earlier one", async () => {
    const f = following();
    f.moveHead(2);
    f.take(part(3, 0), part(2, 0), part(3, 1));
    expect(f.executed.map(([, index]) => index)).toEqual([0, 1]);
    expect(await f.metric('subblocks_received_total{place="late"}')).toBe(1);
  });

  it("ends a block whose parent is no longer the head", () => {
    const f = following();
    f.take(part(3, 0, 1), part(3, 1));
    expect(f.pending.latest).toBeDefined();
    f.moveHead(2);
    f.take(part(3, 2));
    expect(f.pending.latest).toBeUndefined();
  });

  it("ignores other parts of a block that is built here, and neither executes nor relays own ones that come back", async () => {
    const f = following();
    f.take(part(2, 0, 1, 9));
    f.state.building = 2; // another build of it
    for (const index of [0, 1]) expect(f.order.take(part(2, index)).kind).not.toBe("duplicate");
    f.take(part(2, 1, 1, 9), part(2, 0), part(2, 0, 1, 10));
    expect(await f.metric('subblocks_received_total{place="built-here"}')).toBe(3);
    f.order.drop();
    f.state.building = undefined; // sealed
    f.take(part(2, 0), part(2, 1), part(2, 2), part(2, 1, 1, 9));
    expect([f.executed, f.relayed, f.log]).toEqual([[[2, 0]], [textOf(part(2, 0, 1, 9))], []]);
    f.take(part(2, 0, 1, 11)); // another leader builds it
    expect(f.executed).toEqual(Array.from({ length: 2 }, () => [2, 0]));
  });

  it("keeps the parts of the next block while one is built here, which another leader's block replaces", () => {
    const f = following();
    f.state.building = 2;
    f.take(part(3, 0), part(3, 1));
    expect([f.executed.length, f.relayed.length]).toEqual([0, 2]);
    f.state.building = undefined; // the head has changed
    f.moveHead(2);
    expect(f.executed).toEqual([0, 1].map((index) => [3, index]));
  });

  it("goes on with a block when another source contradicts an earlier one", () => {
    const f = following();
    f.take(part(2, 0), part(2, 1), part(2, 0, 1, 9), { ...part(2, 1), blockNumber: 7 }, part(2, 1, 1, 9));
    expect([f.pending.latest, f.log]).toEqual([expect.objectContaining({ index: 1, payloadId: part(2, 0, 1, 9).payloadId }), []]);
  });

  it("says once in a while that streams are broken, and counts each message", async () => {
    const f = following();
    for (let i = 0; i < 50; i++) f.takeText(i % 2 === 0 ? undefined : "{}");
    expect(f.log).toHaveLength(1);
    expect(await f.metric('subblocks_refused_total{reason="unreadable"}')).toBe(50);
    f.state.nowMs = 10_000;
    f.takeText("[]");
    expect(f.log).toHaveLength(2);
  });

  it("keeps a bounded size of parts whose parent does not come", async () => {
    const f = following();
    const large = part(9, 0);
    f.take(large);
    for (let index = 1; index < 5; index++) {
      const transactions = [new Uint8Array(5 * 1024 * 1024)];
      const next = part(9, index);
      f.take({ ...next, diff: { ...next.diff, transactions } });
    }
    expect(await f.metric('subblocks_refused_total{reason="too-much-waits"}')).toBe(1);
    f.moveHead(8);
    expect(f.executed).toEqual([]);
    f.take(part(9, 0, 8, 77));
    expect(f.executed).toEqual([[9, 0]]);
  });

  it("keeps its pending block through a flood of blocks that do not fit", () => {
    const f = following();
    f.take(part(2, 0));
    for (let seed = 100; seed < 1_100; seed++) f.take(part(2, 0, 77, seed));
    expect(f.pending.latest).toMatchObject({ payloadId: part(2, 0).payloadId });
    expect(f.executed).toEqual([[2, 0]]);
  });
});
