import { describe, expect, it } from "vitest";
import { ChainTime } from "./chain-time.ts";

const GENESIS = 1000;
function timeAt(nowSec: number, slotSec = 1, headSec = GENESIS) {
  const machine = { nowSec };
  return { machine, time: new ChainTime({ genesisSec: GENESIS, slotSec, nowSec: () => machine.nowSec }, headSec) };
}

describe("the time of the next block", () => {
  it("is the clock's, which begins with the genesis", () => {
    const { machine, time } = timeAt(5000);
    machine.nowSec += 7;
    expect(time.take(GENESIS)).toBe(GENESIS + 7);
  });

  it("is a slot of its own, however soon the block is made", () => {
    const { time } = timeAt(5000, 4);
    expect(time.take(GENESIS)).toBe(GENESIS + 4);
    expect(time.take(GENESIS + 4)).toBe(GENESIS + 8);
    expect(time.nowSec).toBe(GENESIS + 8); // the clock does not fall behind the chain
  });

  it("is the beginning of the slot that the clock is in", () => {
    const { machine, time } = timeAt(5000, 12);
    machine.nowSec += 30;
    expect(time.take(GENESIS)).toBe(GENESIS + 24);
  });

  it("is the one that was set, once; the clock goes on from there", () => {
    const { machine, time } = timeAt(5000);
    time.setNext(GENESIS + 500, GENESIS);
    expect(time.take(GENESIS)).toBe(GENESIS + 500);
    machine.nowSec += 3;
    expect(time.take(GENESIS + 500)).toBe(GENESIS + 503);
  });

  it("cannot be set into the past or into a slot that is taken", () => {
    const { time } = timeAt(5000, 12);
    expect(() => time.setNext(GENESIS, GENESIS)).toThrow("is not after that of the latest block");
    expect(() => time.setNext(GENESIS + 11, GENESIS)).toThrow("is in slot 0, which has the latest block; slots take 12 s");
  });

  it("is an interval after the last block's while there is one", () => {
    const { time } = timeAt(5000);
    time.setInterval(60);
    expect(time.take(GENESIS)).toBe(GENESIS + 60);
    expect(time.take(GENESIS + 60)).toBe(GENESIS + 120);
  });

  it("of a chain that is continued is the machine's, unless the chain is ahead of it", () => {
    expect(timeAt(5000, 1, GENESIS + 10).time.nowSec).toBe(5000);
    expect(timeAt(5000, 1, 9000).time.nowSec).toBe(9000);
  });
});
