import { describe, expect, it } from "vitest";
import { PeerBudgets } from "./peer-budgets.ts";
import { Turns } from "./turns.ts";

const MIB = 1024 * 1024;

describe("turns", () => {
  it("go one after the other, in the order of arrival, with the event loop between them", async () => {
    const turns = new Turns({ maxWaiting: 10, maxWaitMs: 1000 }, () => 0);
    const log: string[] = [];
    const work = (name: string) =>
      turns.take(async () => {
        log.push(`${name} starts`);
        await Promise.resolve();
        log.push(`${name} ends`);
        setImmediate(() => log.push("others"));
      });
    expect(await Promise.all([work("a"), work("b")])).toEqual(["go", "go"]);
    expect(log).toEqual(["a starts", "a ends", "others", "b starts", "b ends"]);
  });

  it("are refused beyond the number that may wait, and when they come too late", async () => {
    let now = 0;
    const turns = new Turns({ maxWaiting: 1, maxWaitMs: 3000 }, () => now);
    let done = 0;
    const slow = turns.take(async () => {
      now = 3001;
      await Promise.resolve();
    });
    const quick = () => turns.take(() => Promise.resolve(void done++));
    expect(await Promise.all([slow, quick(), quick()])).toEqual(["go", "late", "full"]);
    expect(await quick()).toBe("go");
    expect(done).toBe(1);
  });

  it("go on after work that failed", async () => {
    const turns = new Turns({ maxWaiting: 1, maxWaitMs: 3000 }, () => 0);
    await expect(turns.take(() => Promise.reject(new Error("no")))).rejects.toThrow("no");
    expect(await turns.take(() => Promise.resolve())).toBe("go");
  });
});

describe("the budget of a peer", () => {
  it("is used up by eight small invalid messages, or one of ten mebibytes", () => {
    let now = 0;
    const budgets = new PeerBudgets(() => now);
    for (let n = 0; n < 8; n++) {
      expect(budgets.isOpen("many")).toBe(true);
      budgets.chargeInvalid("many", 0);
    }
    expect(budgets.isOpen("many")).toBe(false);
    budgets.chargeInvalid("large", 10 * MIB);
    expect([budgets.isOpen("large"), budgets.isOpen("other")]).toEqual([false, true]);
    now = 5001;
    expect([budgets.isOpen("many"), budgets.isOpen("large")]).toEqual([true, false]);
    now = 15_001;
    expect(budgets.isOpen("large")).toBe(true);
  });

  it("is never more than the burst, and is not refilled by a clock that goes back", () => {
    let now = 1_000_000;
    const budgets = new PeerBudgets(() => now);
    budgets.chargeInvalid("a", 0);
    now = 100_000_000;
    for (let n = 0; n < 8; n++) budgets.chargeInvalid("a", 0);
    expect(budgets.isOpen("a")).toBe(false);
    now = 0;
    expect(budgets.isOpen("a")).toBe(false);
  });

  it("lasts for a known block in another form every second", () => {
    let now = 0;
    const budgets = new PeerBudgets(() => now);
    for (; now < 600_000; now += 1000) {
      budgets.chargeRedundant("honest", 0.9 * MIB);
      expect(budgets.isOpen("honest")).toBe(true);
    }
  });
});
