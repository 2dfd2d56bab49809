import { silentLogger } from "@rnode/observe";
import { expect, it } from "vitest";
import { IncomingBudget } from "./incoming.ts";

function setUp(maxBytes: number) {
  const dropped: string[] = [];
  let counted = 0;
  const budget = new IncomingBudget(maxBytes, { log: silentLogger, onDrop: () => counted++ });
  const open = (address: string, name = address) => budget.open(address, () => dropped.push(name));
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
