import type { Gateway, PortMapping } from "@achingbrain/nat-port-mapper";
import { silentLogger } from "@rnode/observe";
import { describe, expect, it } from "vitest";
import { type Mapping, PortMapper } from "./nat.ts";

class Router implements Pick<Gateway, "family" | "mapAll" | "stop"> {
  readonly family: "IPv4" | "IPv6" = "IPv4";
  readonly asked: string[] = [];
  isStopped = false;
  refusals = 0;
  externalHost = "203.0.113.7";
  async *mapAll(port: number, { protocol = "tcp" } = {}): AsyncGenerator<PortMapping, void, unknown> {
    this.asked.push(`${protocol} ${port}`);
    if (this.refusals-- > 0) throw new Error("not authorized");
    yield {
      externalHost: this.externalHost,
      externalPort: port + 1,
      internalHost: "192.168.1.2",
      internalPort: port,
      protocol: protocol === "udp" ? "UDP" : "TCP",
    };
  }
  async stop(): Promise<void> {
    this.isStopped = true;
  }
}

async function run(
  routers: readonly Router[],
  udpPort: number | undefined = 9_003,
  sleeps = 3,
): Promise<{ mapped: Mapping[]; waits: number[] }> {
  const mapped: Mapping[] = [];
  const waits: number[] = [];
  let ended: () => void = () => {};
  const end = new Promise<void>((resolve) => {
    ended = resolve;
  });
  const mapper = new PortMapper(
    { tcpPort: 9_002, udpPort },
    {
      client: {
        async *findGateways() {
          for (const router of routers) yield router as unknown as Gateway;
        },
      },
      onMapped: (mapping) => {
        mapped.push(mapping);
        ended();
      },
      clock: {
        nowMs: () => 0,
        sleep: async (ms, signal) => {
          waits.push(ms);
          if (waits.length < sleeps) return;
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
  return { mapped, waits };
}

describe("port mapping", () => {
  it("asks for both ports, tells where others reach them, and takes them back at the end", async () => {
    const router = new Router();
    expect((await run([router])).mapped).toEqual([{ ip: "203.0.113.7", tcpPort: 9_003, udpPort: 9_004 }]);
    expect(router.asked).toEqual(["tcp 9002", "udp 9003"]);
    expect(router.isStopped).toBe(true);
  });

  it("tries again every five minutes while there is no router, or it refuses", async () => {
    expect(await run([])).toEqual({ mapped: [], waits: [300_000, 300_000, 300_000] });
    const router = new Router();
    router.refusals = 2;
    expect((await run([router])).mapped).toHaveLength(1);
  });
});
