import { silentLogger } from "@rnode/observe";
import { afterEach, expect, it, vi } from "vitest";
import { IncomingBudget } from "./incoming.ts";

afterEach(() => {
  vi.useRealTimers();
});

function setUp(maxBytes: number) {
  const dropped: string[] = [];
  let counted = 0;
  const budget = new IncomingBudget(maxBytes, { log: silentLogger, onDrop: () => counted++ });
  const open = (address: string, name = address) => budget.open(address, { disconnect: () => dropped.push(name) });
  return { budget, open, dropped, counted: () => counted };
}

it("takes the largest request of the client that has most", () => {
  const { budget, open, dropped, counted } = setUp(100);
  open("10.0.0.1", "largest of all").hold(40);
  open("10.0.0.2", "first").hold(20);
  open("10.0.0.2", "second").hold(30);
  expect(dropped).toEqual([]);
  open("10.0.0.3", "newcomer").hold(15);
  expect(dropped).toEqual(["second"]);
  expect(budget.bytes).toBe(75);
  expect(counted()).toBe(1);
});

it("lets a request go on that is within the bound, and forgets what has been read or has ended", () => {
  const { budget, open, dropped } = setUp(100);
  const one = open("10.0.0.1");
  for (const bytes of [60, 99, 0, 80]) one.hold(bytes);
  one.close();
  one.hold(500);
  expect(budget.bytes).toBe(0);
  expect(dropped).toEqual([]);
});

it("never holds more than the bound, even of one request", () => {
  const { budget, open, dropped } = setUp(100);
  const one = open("10.0.0.1");
  one.hold(101);
  one.hold(102);
  expect(dropped).toEqual(["10.0.0.1"]);
  expect(budget.bytes).toBeLessThanOrEqual(100);
});

it("takes the addresses of one IPv6 network for one client", () => {
  const { open, dropped } = setUp(100);
  open("2001:db8::1", "network, 40").hold(40);
  open("2001:db8::2", "network, 25").hold(25);
  open("10.0.0.1", "another").hold(50);
  expect(dropped).toEqual(["network, 40"]);
});

const KIB = 1024;

it("has a client with half of all send its large requests one at a time, and drops those that stall meanwhile", () => {
  vi.useFakeTimers();
  const budget = new IncomingBudget(4096 * KIB, { log: silentLogger, onDrop: () => {} });
  const events: string[] = [];
  const open = (name: string, address = "10.0.0.1") =>
    budget.open(address, {
      disconnect: () => events.push(`${name} dropped`),
      pause: () => events.push(`${name} paused`),
      resume: () => events.push(`${name} on`),
    });
  const since = (): string[] => events.splice(0);

  const [a, b, c, small] = [open("a"), open("b"), open("c"), open("small")];
  for (const one of [a, b, c]) one.hold(600 * KIB);
  expect(since()).toEqual([]);
  // `a` exceeds half of the budget, and continues.
  a.hold(1000 * KIB);
  b.hold(650 * KIB);
  c.hold(700 * KIB);
  small.hold(200 * KIB);
  a.hold(1100 * KIB);
  expect(since()).toEqual(["b paused", "c paused"]);
  // Other clients are not affected.
  open("other", "10.0.0.2").hold(1000 * KIB);
  expect(since()).toEqual([]);

  // While it grows it may; once it does not, the next one does.
  vi.advanceTimersByTime(500);
  a.hold(1200 * KIB);
  vi.advanceTimersByTime(500);
  expect(since()).toEqual([]);
  vi.advanceTimersByTime(1000);
  expect(since()).toEqual(["b on", "c on", "a dropped"]);

  // Complete ones make room too.
  b.hold(1500 * KIB);
  c.hold(800 * KIB);
  expect(since()).toEqual(["c paused"]);
  b.hold(0);
  expect(since()).toEqual(["c on"]);
  c.close();
  small.close();
  vi.advanceTimersByTime(5000);
  expect(since()).toEqual([]);
  expect(budget.bytes).toBe(1000 * KIB);
  expect(vi.getTimerCount()).toBe(0);
});

it("lets the next of many go on when one ends and there is still much", () => {
  vi.useFakeTimers();
  const budget = new IncomingBudget(4096 * KIB, { log: silentLogger, onDrop: () => {} });
  const events: string[] = [];
  const parts = ["a", "b", "c", "d", "e"].map((name) =>
    budget.open("10.0.0.1", {
      disconnect: () => events.push(`${name} dropped`),
      pause: () => events.push(`${name} paused`),
      resume: () => events.push(`${name} on`),
    }),
  );
  for (const part of parts) part.hold(600 * KIB);
  expect(events.splice(0)).toEqual(["e paused"]);
  for (const part of parts) part.hold(700 * KIB);
  expect(events.splice(0)).toEqual(["a paused", "b paused", "c paused"]);
  parts[3]!.close();
  expect(events.splice(0)).toEqual(["e on"]);
  vi.advanceTimersByTime(1500);
  expect(events.splice(0)).toEqual(["a on", "e dropped"]);
  vi.advanceTimersByTime(1000);
  expect(events.splice(0)).toEqual(["b on", "c on", "a dropped"]);
});
