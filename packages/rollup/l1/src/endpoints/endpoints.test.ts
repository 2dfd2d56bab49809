import { RpcTransportError } from "@rnode/jsonrpc";
import { describe, expect, it } from "vitest";
import { FakeClock, FakeEndpoint } from "../testing/fake-endpoint.ts";
import { L1Endpoints } from "./endpoints.ts";

const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

const isDown = (): never => {
  throw new RpcTransportError("rpc/unreachable", {});
};

function setUp(count: number, maxAttempts = 4) {
  const fakes = Array.from({ length: count }, () => new FakeEndpoint([]));
  const warnings: string[] = [];
  const clock = new FakeClock();
  const endpoints = new L1Endpoints(
    { chainId: 900n, maxAttempts },
    {
      endpoints: fakes.map((rpc, index) => ({ name: `endpoint-${index}`, rpc })),
      clock,
      log: { warn: (text, fields) => warnings.push(`${text} ${String(fields?.reason)}`), debug: () => {} },
    },
  );
  const ask = (): Promise<string> =>
    endpoints.request("a balance", async ({ name, rpc }) => {
      await rpc.call("eth_getBlockByHash", ["0x", false]);
      return name;
    });
  const checksOf = (index: number): number => fakes[index]!.calls.filter((method) => method === "eth_chainId").length;
  return { endpoints, fakes, ask, checksOf, warnings, clock };
}

describe("L1Endpoints", () => {
  it("asks for the chain id once, and again after every connection that ended", async () => {
    const { fakes, ask, checksOf } = setUp(1);
    await Promise.all([ask(), ask(), ask()]);
    await ask();
    expect(checksOf(0)).toBe(1);
    fakes[0]!.connectionsLost = 2;
    await ask();
    await ask();
    expect(checksOf(0)).toBe(2);
  });

  it("does not count an answer that came over a new connection before the chain behind it is known", async () => {
    const { fakes, ask, warnings } = setUp(1);
    await ask();
    fakes[0]!.override = (method) => {
      if (method === "eth_chainId") return "0x1";
      fakes[0]!.connectionsLost++;
      return undefined;
    };
    await expect(ask()).rejects.toThrow("another chain");
    expect(warnings[0]).toMatch(/faulty answer .*another chain \(expected 900, got 1\)/);
    fakes[0]!.override = () => undefined;
    expect(await ask()).toBe("endpoint-0");
  });

  it("asks again after a request failed", async () => {
    const { fakes, ask, checksOf } = setUp(1, 1);
    await ask();
    fakes[0]!.override = isDown;
    await expect(ask()).rejects.toThrow(expect.objectContaining({ code: "l1/unavailable" }));
    fakes[0]!.override = () => undefined;
    await ask();
    expect(checksOf(0)).toBe(2);
  });

  it("asks again whenever it goes to another endpoint", async () => {
    const { fakes, ask, checksOf } = setUp(2);
    expect(await ask()).toBe("endpoint-0");
    fakes[0]!.override = isDown;
    expect(await ask()).toBe("endpoint-1");
    fakes[0]!.override = () => undefined;
    fakes[1]!.override = isDown;
    expect(await ask()).toBe("endpoint-0");
    expect([checksOf(0), checksOf(1)]).toEqual([2, 1]);
  });

  it("goes one endpoint further however many requests fail at once", async () => {
    const { fakes, ask } = setUp(3);
    fakes[0]!.override = isDown;
    expect(await Promise.all([ask(), ask()])).toEqual(["endpoint-1", "endpoint-1"]);
    expect(fakes[2]!.calls).toEqual([]);
  });

  it("goes back to the first endpoint once that answers again, and no request waits for it", async () => {
    const { fakes, ask, clock, warnings } = setUp(3);
    fakes[0]!.override = isDown;
    expect(await ask()).toBe("endpoint-1");
    clock.now += 59_000;
    const before = fakes[0]!.calls.length;
    expect(await ask()).toBe("endpoint-1");
    expect(fakes[0]!.calls).toHaveLength(before); // too soon
    clock.now += 2_000;
    expect(await ask()).toBe("endpoint-1"); // it is tried meanwhile, and still down
    await settle();
    expect(fakes[0]!.calls.length).toBeGreaterThan(before);
    fakes[0]!.override = () => undefined;
    expect(await ask()).toBe("endpoint-1");
    clock.now += 60_000;
    expect(await ask()).toBe("endpoint-1");
    await settle();
    expect(await ask()).toBe("endpoint-0");
    expect(warnings.map((warning) => warning.replace(" undefined", ""))).toEqual([
      "going on with another L1 endpoint",
      "the first L1 endpoint answers again, going back to it",
    ]);
    expect(fakes[2]!.calls).toEqual([]);
  });

  it("goes back less and less often to a first endpoint that fails again", async () => {
    const { fakes, ask, clock } = setUp(2);
    const fail = async (): Promise<void> => {
      fakes[0]!.override = (method) => (method === "eth_getBlockByHash" ? isDown() : undefined);
      expect(await ask()).toBe("endpoint-1");
      fakes[0]!.override = () => undefined;
    };
    const returnsWithin = async (ms: number): Promise<boolean> => {
      clock.now += ms;
      await ask();
      await settle();
      return (await ask()) === "endpoint-0";
    };
    await fail();
    expect(await returnsWithin(61_000)).toBe(true);
    await fail();
    expect(await returnsWithin(61_000)).toBe(false);
    expect(await returnsWithin(60_000)).toBe(true);
    clock.now += 1_000_000;
    await fail();
    expect(await returnsWithin(61_000)).toBe(true);
  });
});
