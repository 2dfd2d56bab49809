import { silentLogger } from "@rnode/observe";
import { describe, expect, it } from "vitest";
import { type Mapping, PortMapper } from "./nat.ts";
import type { MappedProtocol, Router } from "./upnp/upnp-router.ts";

/** Maps each port to the next higher one, unless the earlier mapping is given. */
class FakeRouter implements Router {
  readonly mapped = new Map<string, number>();
  readonly asked: string[] = [];
  ip = "203.0.113.7";
  refusals = 0;
  async externalIp(): Promise<string> {
    return this.ip;
  }
  async map(protocol: MappedProtocol, localPort: number, wantedPort: number, leaseSec: number): Promise<number> {
    this.asked.push(`${protocol} ${localPort} as ${wantedPort} for ${leaseSec}`);
    if (this.refusals-- > 0) throw new Error("not authorized");
    const port = wantedPort === localPort ? localPort + 1 : wantedPort;
    this.mapped.set(protocol, port);
    return port;
  }
  async unmap(protocol: MappedProtocol, externalPort: number): Promise<void> {
    if (this.mapped.get(protocol) === externalPort) this.mapped.delete(protocol);
  }
}

/** @param beforeSleep changes of the network, by number of the sleep; the mapper is closed at the last one */
async function run(
  routers: FakeRouter[],
  beforeSleep: readonly (() => void)[],
  udpPort: number | undefined = 9_003,
): Promise<{ told: Mapping[]; sleptMs: number[] }> {
  const told: Mapping[] = [];
  const sleptMs: number[] = [];
  let ended: () => void = () => {};
  const end = new Promise<void>((resolve) => {
    ended = resolve;
  });
  const mapper = new PortMapper(
    { tcpPort: 9_002, udpPort },
    {
      async *findRouters() {
        yield* routers;
      },
      onMapped: (mapping) => told.push(mapping),
      clock: {
        unixMs: () => 0,
        monotonicMs: () => 0,
        sleep: async (ms, signal) => {
          sleptMs.push(ms);
          beforeSleep[sleptMs.length - 1]?.();
          if (sleptMs.length < beforeSleep.length) return;
          ended();
          await new Promise<void>((resolve) => signal?.addEventListener("abort", () => resolve()));
        },
      },
      log: silentLogger,
    },
  );
  mapper.start();
  await end;
  await mapper.close();
  return { told, sleptMs };
}

const nothing = (): void => {};
const MAPPED: Mapping = { ip: "203.0.113.7", tcpPort: 9_003, udpPort: 9_004 };
const [RENEW_MS, RETRY_MS] = [480_000, 300_000];

describe("port mapping", () => {
  it("asks for both ports, tells where others reach them, and takes both back at the end", async () => {
    const router = new FakeRouter();
    let during: number | undefined;
    const { told } = await run([router], [() => (during = router.mapped.size)]);
    expect(told).toEqual([MAPPED]);
    expect(during).toBe(2);
    expect(router.mapped.size).toBe(0);
  });

  it("renews the ports that the router gave long before they end, and tells an address only when it changes", async () => {
    const router = new FakeRouter();
    const { told, sleptMs } = await run([router], [nothing, () => (router.ip = "203.0.113.8"), nothing]);
    expect(router.asked).toEqual([
      "TCP 9002 as 9002 for 1200",
      "UDP 9003 as 9003 for 1200",
      "TCP 9002 as 9003 for 1200",
      "UDP 9003 as 9004 for 1200",
      "TCP 9002 as 9003 for 1200",
      "UDP 9003 as 9004 for 1200",
    ]);
    expect(told).toEqual([MAPPED, { ...MAPPED, ip: "203.0.113.8" }]);
    expect(sleptMs).toEqual([RENEW_MS, RENEW_MS, RENEW_MS]);
  });

  it("looks for another router when the one that it had refuses", async () => {
    const [first, second] = [new FakeRouter(), new FakeRouter()];
    const routers = [first];
    const { told } = await run(routers, [
      () => {
        first.refusals = Number.POSITIVE_INFINITY;
        routers[0] = second;
        second.ip = "203.0.113.9";
      },
      nothing,
    ]);
    expect(told).toEqual([MAPPED, { ...MAPPED, ip: "203.0.113.9" }]);
    expect(second.mapped.size).toBe(0);
  });

  it("tries again every five minutes while there is no router, or it refuses", async () => {
    expect(await run([], [nothing, nothing])).toEqual({ told: [], sleptMs: [RETRY_MS, RETRY_MS] });
    const router = new FakeRouter();
    router.refusals = 2;
    expect(await run([router], [nothing, nothing, nothing])).toMatchObject({
      told: [MAPPED],
      sleptMs: [RETRY_MS, RENEW_MS, RENEW_MS],
    });
  });

  it("asks the next router where the first one refuses", async () => {
    const [first, second] = [new FakeRouter(), new FakeRouter()];
    first.refusals = 1;
    expect((await run([first, second], [nothing])).told).toEqual([MAPPED]);
    expect([first.asked.length, second.asked.length]).toEqual([1, 2]);
  });

  it("keeps an address to itself that only another router reaches", async () => {
    const router = new FakeRouter();
    router.ip = "192.168.178.2";
    expect((await run([router], [nothing])).told).toEqual([]);
    expect(router.asked).toHaveLength(2);
  });
});
