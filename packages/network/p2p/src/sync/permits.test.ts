import { describe, expect, it } from "vitest";
import { MemoryBudget } from "./memory-budget.ts";
import { Permits } from "./permits.ts";

const NEVER = new AbortController().signal;
const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Acquires, and notes the name once it is let through. */
function acquirer(permits: Permits) {
  const through: string[] = [];
  const releases = new Map<string, () => void>();
  const acquire = (name: string, units: number, signal = NEVER): void => {
    void permits.acquire(units, signal).then((release) => {
      through.push(release === undefined ? `${name} left` : name);
      if (release !== undefined) releases.set(name, release);
    });
  };
  return { through, acquire, release: (name: string) => releases.get(name)!() };
}

describe("permits", () => {
  it("are given in the order of asking: who needs little does not overtake who needs much", async () => {
    const { through, acquire, release } = acquirer(new Permits(10));
    acquire("a", 6);
    acquire("large", 8);
    acquire("small", 1);
    await settle();
    expect(through).toEqual(["a"]);
    release("a");
    await settle();
    expect(through).toEqual(["a", "large", "small"]);
  });

  it("pass to the next when one leaves who was waiting", async () => {
    const { through, acquire } = acquirer(new Permits(10));
    const leaving = new AbortController();
    acquire("a", 6);
    acquire("large", 8, leaving.signal);
    acquire("small", 1);
    await settle();
    leaving.abort();
    await settle();
    expect(through).toEqual(["a", "large left", "small"]);
  });

  it("come back once, however often they are given back", async () => {
    const { through, acquire, release } = acquirer(new Permits(2));
    acquire("a", 1);
    acquire("b", 1);
    await settle();
    release("a");
    release("a");
    acquire("c", 1);
    acquire("d", 1);
    await settle();
    expect(through).toEqual(["a", "b", "c"]);
  });

  it("who wants more than there are gets all", async () => {
    const { through, acquire, release } = acquirer(new Permits(4));
    acquire("huge", 100);
    acquire("b", 1);
    await settle();
    expect(through).toEqual(["huge"]);
    release("huge");
    await settle();
    expect(through).toEqual(["huge", "b"]);
  });
});

describe("memory budget", () => {
  it("gives up who holds most, and counts only who is left", () => {
    const budget = new MemoryBudget(50);
    const [a, b, c] = [new AbortController(), new AbortController(), new AbortController()];
    budget.hold(a, 10);
    budget.hold(b, 20);
    budget.hold(c, 5);
    budget.hold(b, 25); // instead of 20
    budget.hold(c, 15);
    expect(budget.usedBytes).toBe(50);
    budget.hold(a, 11);
    expect([a, b, c].map(({ signal }) => signal.aborted)).toEqual([false, true, false]);
    expect(budget.usedBytes).toBe(26);
    budget.release(c);
    budget.release(c);
    expect(budget.usedBytes).toBe(11);
  });
});
