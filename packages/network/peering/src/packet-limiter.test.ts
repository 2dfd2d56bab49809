import { describe, expect, it } from "vitest";
import { PacketLimiter } from "./packet-limiter.ts";

const clock = { now: 0, unixMs: () => clock.now, monotonicMs: () => clock.now, sleep: () => Promise.resolve() };
const count = (times: number, allows: () => boolean): number => Array.from({ length: times }, allows).filter(Boolean).length;

describe("the limit on discovery packets", () => {
  it("holds for each address, which gets its share back with time", () => {
    const limiter = new PacketLimiter(clock);
    expect(count(1_000, () => limiter.allows("192.0.2.1"))).toBe(60);
    expect(limiter.allows("192.0.2.2")).toBe(true);
    clock.now += 1_000;
    expect(count(1_000, () => limiter.allows("192.0.2.1"))).toBe(20);
  });

  it("holds for all addresses together, but not for answers to us", () => {
    const limiter = new PacketLimiter(clock);
    const flood = (): number =>
      Array.from({ length: 5_000 }, (_, i) => limiter.allows(`10.0.${i >> 8}.${i & 255}`)).filter(Boolean).length;
    expect(flood()).toBe(1_000);
    limiter.expectAnswer("192.0.2.1");
    expect(limiter.allows("192.0.2.1")).toBe(true);
    expect(limiter.allows("192.0.2.2")).toBe(false);
  });

  it("lets few handshakes through", () => {
    const limiter = new PacketLimiter(clock);
    expect(count(100, () => limiter.allowsHandshake("192.0.2.1"))).toBe(10);
    expect(Array.from({ length: 100 }, (_, i) => limiter.allowsHandshake(`10.0.0.${i}`)).filter(Boolean)).toHaveLength(30);
  });
});
