import { multiaddr } from "@multiformats/multiaddr";
import { afterEach, describe, expect, it } from "vitest";
import { connectionLimits } from "../network.ts";
import { createHost, type Host, type HostOptions } from "./create-host.ts";

const hosts: Host[] = [];
const start = async (key: number, options: Partial<HostOptions<Record<never, never>>> = {}): Promise<Host> => {
  const host = await createHost({
    networkKey: new Uint8Array(32).fill(key),
    listen: { ip: "127.0.0.1", tcpPort: 0 },
    userAgent: "rnode/test",
    limits: connectionLimits(10),
    ...options,
  });
  hosts.push(host);
  await host.start();
  return host;
};
afterEach(async () => {
  await Promise.all(hosts.splice(0).map(async (host) => host.stop()));
});

describe("a host", () => {
  it("has the identity of its key, in the form of secp256k1 peer ids", async () => {
    const host = await start(1);
    expect(host.peerId.toString()).toMatch(/^16Uiu2HA/);
    expect(host.getMultiaddrs()[0]?.toString()).toMatch(/^\/ip4\/127\.0\.0\.1\/tcp\/\d+\/p2p\/16Uiu2HA/);
  });

  it("connects over noise and yamux, identifies itself and answers pings", async () => {
    const [a, b] = [await start(1), await start(2)];
    const identified = new Promise((resolve) => b.addEventListener("peer:identify", resolve, { once: true }));
    const connection = await a.dial(b.getMultiaddrs());
    expect([connection.encryption, connection.multiplexer]).toEqual(["/noise", "/yamux/1.0.0"]);
    expect(await a.services.ping.ping(b.peerId)).toBeGreaterThanOrEqual(0);
    await identified;
    const known = await b.peerStore.get(a.peerId);
    expect(new TextDecoder().decode(known.metadata.get("AgentVersion"))).toBe("rnode/test");
  });

  it("refuses connections of one address beyond the limit, and takes more when some have gone", async () => {
    const host = await start(1, { limits: { ...connectionLimits(10), maxOfAddress: 2, acceptsPerSecOfAddress: 100 } });
    const [b, c, d] = [await start(2, {}), await start(3), await start(4)];
    const address = host.getMultiaddrs();
    await b.dial(address);
    await c.dial(address);
    await expect(d.dial(address)).rejects.toThrow();
    expect(host.getPeers()).toHaveLength(2);
    const left = new Promise((resolve) => host.addEventListener("peer:disconnect", resolve, { once: true }));
    await c.hangUp(host.peerId);
    await left;
    await d.dial(address);
  });

  it("tells others the addresses that it is to announce", async () => {
    const host = await start(1, { announce: () => [multiaddr("/ip4/203.0.113.1/tcp/9222")] });
    expect(host.getMultiaddrs().map(String)).toEqual([`/ip4/203.0.113.1/tcp/9222/p2p/${host.peerId.toString()}`]);
  });
});
