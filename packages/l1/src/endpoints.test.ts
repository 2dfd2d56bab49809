import { RpcTransportError } from "@rnode/jsonrpc";
import { describe, expect, it } from "vitest";
import { L1Endpoints } from "./endpoints.ts";
import { FakeClock, FakeEndpoint } from "./testing/fake-endpoint.ts";

const isDown = (): never => {
  throw new RpcTransportError("rpc/unreachable", {});
};

function setUp(count: number, maxAttempts = 4) {
  const fakes = Array.from({ length: count }, () => new FakeEndpoint([]));
  const warnings: string[] = [];
  const endpoints = new L1Endpoints(
    { chainId: 900n, maxAttempts },
    {
      endpoints: fakes.map((rpc, index) => ({ name: `endpoint-${index}`, rpc })),
      clock: new FakeClock(),
      log: { warn: (text, fields) => warnings.push(`${text} ${String(fields?.reason)}`), debug: () => {} },
    },
  );
  const ask = (): Promise<string> =>
    endpoints.request("a balance", async ({ name, rpc }) => {
      await rpc.call("eth_getBlockByHash", ["0x", false]);
      return name;
    });
  const checksOf = (index: number): number => fakes[index]!.calls.filter((method) => method === "eth_chainId").length;
  return { endpoints, fakes, ask, checksOf, warnings };
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
    expect(warnings[0]).toMatch(/faulty answer .*another chain expected=900 got=1/);
    fakes[0]!.override = () => undefined;
    expect(await ask()).toBe("endpoint-0");
  });

  it("asks again after a request failed", async () => {
    const { fakes, ask, checksOf } = setUp(1, 1);
    await ask();
    fakes[0]!.override = isDown;
    await expect(ask()).rejects.toThrow("l1/unavailable");
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
});
