import { ClientConnection } from "@rnode/jsonrpc";
import { beforeEach, describe, expect, it } from "vitest";
import { GasBudgets } from "./gas-budgets.ts";

const MILLION = 1_000_000;

describe("budgets of gas", () => {
  let nowMs: number;
  let budgets: GasBudgets;
  beforeEach(() => {
    nowMs = 0;
    budgets = new GasBudgets({ perConnection: 50 * MILLION, perAddress: 100 * MILLION }, () => nowMs);
  });
  const from = (address = "1.1.1.1"): ClientConnection => new ClientConnection("http", address);

  it("are those of a connection and of an address: ten seconds' worth at once, and so much a second", () => {
    const [one, two] = [from(), from()];
    budgets.charge(one, 500 * MILLION);
    expect(budgets.isConnectionSpent(one)).toBe(false);
    budgets.charge(one, MILLION);
    expect(budgets.isConnectionSpent(one)).toBe(true);
    expect(budgets.isConnectionSpent(two)).toBe(false);
    expect(budgets.isAddressSpent("1.1.1.1")).toBe(false);
    budgets.charge(two, 500 * MILLION);
    expect(budgets.isAddressSpent("1.1.1.1")).toBe(true);
    expect(budgets.isAddressSpent("2.2.2.2")).toBe(false);
    nowMs += 20;
    expect(budgets.isConnectionSpent(one)).toBe(false);
    expect(budgets.isAddressSpent("1.1.1.1")).toBe(false);
  });

  it("say which is used up, how much was burned, and when to try again", () => {
    const client = from("2001:db8:1:2::7");
    expect(budgets.shortage(client)).toBeUndefined();
    budgets.charge(client, 620 * MILLION);
    expect(budgets.shortage(client)).toBe(
      "this connection has burned 620000000 gas of its budget of 500000000, which fills by 50000000 a second (--rpc.max-gas-per-connection), and others come first: try again in 3 s",
    );
    budgets.charge(from("2001:db8:1:2::8"), 450 * MILLION);
    expect(budgets.shortage(client)).toBe(
      "your address has burned 1070000000 gas of its budget of 1000000000, which fills by 100000000 a second (--rpc.max-gas-per-address), and others come first: try again in 1 s",
    );
  });

  it("let nobody owe more than once the budget", () => {
    const client = from();
    budgets.charge(client, Number.POSITIVE_INFINITY);
    nowMs += 9_999;
    expect(budgets.isAddressSpent("1.1.1.1")).toBe(true);
    expect(budgets.isConnectionSpent(client)).toBe(true);
    nowMs += 2;
    expect(budgets.isAddressSpent("1.1.1.1")).toBe(false);
    expect(budgets.isConnectionSpent(client)).toBe(false);
  });

  it("can be without limit", () => {
    budgets = new GasBudgets({ perConnection: Number.POSITIVE_INFINITY, perAddress: Number.POSITIVE_INFINITY }, () => nowMs);
    const client = from();
    budgets.charge(client, Number.POSITIVE_INFINITY);
    expect(budgets.isConnectionSpent(client)).toBe(false);
    expect(budgets.isAddressSpent("1.1.1.1")).toBe(false);
    expect(budgets.shortage(client)).toBeUndefined();
  });

  it("of addresses take a bounded memory: those that burned nothing for longest are forgotten", () => {
    const busy = from("9.9.9.9");
    budgets.charge(busy, Number.POSITIVE_INFINITY);
    budgets.charge(from("8.8.8.8"), Number.POSITIVE_INFINITY);
    for (let index = 0; index < 20_000; index++) {
      budgets.charge(from(`10.${index >> 16}.${(index >> 8) & 255}.${index & 255}`), MILLION);
      if (index % 1000 === 0) budgets.charge(busy, MILLION);
    }
    expect(budgets.size).toBeGreaterThan(4_000);
    expect(budgets.size).toBeLessThan(7_000);
    expect(budgets.isAddressSpent("9.9.9.9")).toBe(true);
    expect(budgets.isAddressSpent("8.8.8.8")).toBe(false);
  });
});
