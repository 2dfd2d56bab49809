import { ClientConnection } from "@rnode/jsonrpc";
import { beforeEach, describe, expect, it } from "vitest";
import { LONGEST_MS, OVERRUN, ShortWork } from "./short-work.ts";

describe("costly requests where cheap ones are answered", () => {
  let nowMs: number;
  let short: ShortWork;
  let charged: number[];
  beforeEach(() => {
    nowMs = 0;
    charged = [];
    short = new ShortWork(
      (_, gas) => charged.push(gas),
      () => nowMs,
    );
  });
  const from = (address = "1.1.1.1"): ClientConnection => new ClientConnection("http", address);
  /** @returns whether it was answered here */
  const attempt = (client: ClientConnection, ms: number): boolean =>
    short.attempt(client, (work) => {
      nowMs += Math.min(ms, LONGEST_MS);
      work.check();
      nowMs += Math.max(0, ms - LONGEST_MS);
      if (ms > LONGEST_MS) work.check();
      return "done";
    }) === "done";
  /** How much time of many requests is spent here. */
  const timeSpent = (clients: () => ClientConnection, ms: number, forMs: number): number => {
    let spentMs = 0;
    const endMs = nowMs + forMs;
    while (nowMs < endMs) {
      const startMs = nowMs;
      attempt(clients(), ms);
      spentMs += nowMs - startMs;
      nowMs += 0.1;
    }
    return spentMs;
  };

  it("are answered when they are short", () => {
    const client = from();
    for (let i = 0; i < 10_000; i++) expect(attempt(client, 0.1)).toBe(true);
  });

  it("begin again elsewhere when they are long, or when a long step comes", () => {
    expect(attempt(from(), LONGEST_MS + 1)).toBe(false);
    expect(short.attempt(from(), (work) => work.check(1_000_000n))).toBe(OVERRUN);
    const broken = (): never => {
      throw new Error("broken");
    };
    expect(() => short.attempt(from(), broken)).toThrow("broken");
  });

  it("are charged the gas that they burn, also when they begin again elsewhere", () => {
    const client = from();
    short.attempt(client, (work) => work.burn(30_000n));
    short.attempt(client, (work) => {
      work.burn(500_000n);
      work.burn(400_000n);
      nowMs += LONGEST_MS + 1;
      work.check();
    });
    short.attempt(client, () => "nothing");
    expect(charged).toEqual([30_000, 900_000, 0]);
  });

  it("take little of the time when they are long, from one connection as from many", () => {
    const one = from();
    expect(timeSpent(() => one, 3, 10_000)).toBeLessThan(300);
    expect(timeSpent(() => from(), 3, 10_000)).toBeLessThan(1500);
    let network = 0;
    expect(timeSpent(() => from(`10.0.${network >> 8}.${network++ & 255}`), 3, 10_000)).toBeLessThan(2500);
  });

  it("of a connection that only has short ones are answered while others of its address have long ones", () => {
    const good = from();
    for (let i = 0; i < 8; i++) expect(attempt(good, 0.1)).toBe(true);
    let beforeMs: number;
    do {
      beforeMs = nowMs;
      attempt(from(), 3);
    } while (nowMs > beforeMs);
    expect(attempt(from(), 0.1)).toBe(false);
    expect(attempt(good, 0.1)).toBe(true);
    // A connection that begins now can show elsewhere that its requests are short.
    const late = from();
    expect(attempt(late, 0.1)).toBe(false);
    for (let i = 0; i < 8; i++) short.learn(late, 0.5);
    expect(attempt(late, 0.1)).toBe(true);
  });
});
