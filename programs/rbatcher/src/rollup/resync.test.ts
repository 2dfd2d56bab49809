import { silentLogger } from "@rnode/observe";
import { SimClock } from "@rnode/program/testing";
import { encodeBatcherData, type L2BlockRef } from "@rnode/protocol";
import { SimL1 } from "@rnode/tx-manager/testing";
import { describe, expect, it } from "vitest";
import { SimRollup } from "../testing/sim-rollup.ts";
import { type ResyncOptions, resync } from "./resync.ts";

const address = new Uint8Array(20).fill(0x11);
const OPTIONS: ResyncOptions = { pollIntervalMs: 1000, waitNodeSync: false, checkRecentTxsDepth: 0 };
/** A frame of a channel that is never completed, so that transactions do not change the safe head. */
const DATA = encodeBatcherData([{ channelId: new Uint8Array(16), number: 1, data: Uint8Array.of(1), isLast: false }]);

function setUp(options: Partial<ResyncOptions> = {}) {
  const clock = new SimClock();
  const l1 = new SimL1();
  const node = new SimRollup(l1);
  const stop = new AbortController();
  const start = () => {
    const result: { safeHead: L2BlockRef | undefined; isDone: boolean } = { safeHead: undefined, isDone: false };
    void resync(
      { ...OPTIONS, ...options },
      { stuckAfterMs: 96_000, l1, node, address, clock, log: silentLogger },
      stop.signal,
    ).then((resynced) => {
      Object.assign(result, { safeHead: resynced?.safeHead, isDone: true });
    });
    return result;
  };
  const putInPool = (nonce: bigint): void => {
    l1.pool.set(nonce, {
      type: 2,
      chainId: 900n,
      nonce,
      maxPriorityFeePerGas: 10n ** 9n,
      maxFeePerGas: 10n ** 11n,
      gasLimit: 30_000n,
      to: address,
      value: 0n,
      data: DATA,
      accessList: [],
      signature: { r: new Uint8Array(32).fill(1), s: new Uint8Array(32).fill(1), yParity: 0 },
    });
  };
  return { clock, l1, node, start, stop, putInPool };
}

describe("resync", () => {
  it("needs nothing when the account has sent nothing", async () => {
    const { clock, start } = setUp();
    const result = start();
    await clock.advance(0);
    expect(result.safeHead?.number).toBe(0);
  });

  it("waits for transactions in the pool", async () => {
    const { clock, l1, start, putInPool } = setUp();
    putInPool(0n);
    const result = start();
    await clock.advance(10_000);
    expect(result.isDone).toBe(false);
    l1.mine();
    l1.mine();
    await clock.advance(2000);
    expect(result.isDone).toBe(true);
  });

  it("waits for the L1 block after the head of then where L1 has no old states", async () => {
    const { clock, l1, start, putInPool } = setUp();
    putInPool(0n);
    l1.mine();
    l1.prunedUpTo = Number.POSITIVE_INFINITY;
    const result = start();
    await clock.advance(5000);
    expect(result.isDone).toBe(false);
    l1.mine();
    await clock.advance(5000);
    expect(result.safeHead?.number).toBe(0);
  });

  it("goes on when they are stuck: their nonces will be taken", async () => {
    const { clock, l1, start, putInPool } = setUp();
    l1.includes = false;
    putInPool(0n);
    const result = start();
    await clock.advance(95_000);
    expect(result.isDone).toBe(false);
    await clock.advance(5000);
    expect(result.isDone).toBe(true);
  });

  it("waits until the node has derived the block of the last own transaction", async () => {
    const { clock, l1, node, start, putInPool } = setUp();
    putInPool(0n);
    l1.mine(); // block 1 includes it
    for (let i = 0; i < 5; i++) l1.mine();
    node.lag = 6; // at block 0
    const result = start();
    await clock.advance(5000);
    expect(result.isDone).toBe(false);
    node.lag = 5; // at block 1, of which something may still have to be derived
    await clock.advance(20_000);
    expect(result.isDone).toBe(true); // nothing moves any more, so everything is derived
    const again = start();
    node.lag = 4;
    await clock.advance(1000);
    expect(again.isDone).toBe(true);
  });

  it("does not take a node for done whose L1 block may be half derived while it moves", async () => {
    const { clock, l1, node, start, putInPool } = setUp();
    l1.mine();
    putInPool(0n);
    l1.mine(); // block 2 includes it, and the node is at block 2
    const result = start();
    for (let i = 0; i < 3; i++) {
      await clock.advance(3000);
      l1.mine();
      node.lag++;
    }
    expect(result.isDone).toBe(false);
    node.lag = 0;
    await clock.advance(1000);
    expect(result.isDone).toBe(true);
  });

  it("looks only so far back as it is told", async () => {
    const { clock, l1, node, start, putInPool } = setUp({ checkRecentTxsDepth: 3 });
    putInPool(0n);
    for (let i = 0; i < 5; i++) l1.mine();
    node.lag = 5;
    const result = start();
    await clock.advance(0);
    expect(result.isDone).toBe(true);
  });

  it("waits for the L1 head where it is told to", async () => {
    const { clock, l1, node, start } = setUp({ waitNodeSync: true });
    for (let i = 0; i < 5; i++) l1.mine();
    node.lag = 2;
    const result = start();
    await clock.advance(5000);
    expect(result.isDone).toBe(false);
    node.lag = 0;
    await clock.advance(1000);
    expect(result.isDone).toBe(true);
  });

  it("waits for endpoints that are away, and stops when asked to", async () => {
    const { clock, l1, node, start, stop } = setUp();
    l1.isDown = true;
    const first = start();
    await clock.advance(5000);
    l1.isDown = false;
    node.isDown = true;
    await clock.advance(60_000);
    expect(first.isDone).toBe(false);
    node.isDown = false;
    await clock.advance(60_000);
    expect(first.safeHead?.number).toBe(0);
    node.isDown = true;
    const second = start();
    await clock.advance(5000);
    stop.abort();
    await clock.advance(0);
    expect(second).toEqual({ isDone: true, safeHead: undefined });
  });
});
