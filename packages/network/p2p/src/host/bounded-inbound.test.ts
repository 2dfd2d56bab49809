import type { MultiaddrConnection } from "@libp2p/interface";
import { multiaddr } from "@multiformats/multiaddr";
import { systemClock } from "@rnode/program";
import { describe, expect, it } from "vitest";
import { connectionLimits } from "../network.ts";
import { boundedInbound, sourceOf } from "./bounded-inbound.ts";

class Inbound extends EventTarget {
  readonly remoteAddr;
  constructor(address: string) {
    super();
    this.remoteAddr = multiaddr(address);
  }
}
const connection = (address: string) => new Inbound(address) as Inbound & MultiaddrConnection;

describe("inbound connections", () => {
  it("are refused beyond so many a second, and taken again with time", () => {
    const clock = { now: 0, unixMs: () => clock.now, monotonicMs: () => clock.now, sleep: () => Promise.resolve() };
    const gater = boundedInbound({ ...connectionLimits(30), acceptsPerSec: 2 }, {}, clock);
    const accepted = (): number =>
      Array.from({ length: 20 }, (_, i) => gater.denyInboundConnection!(connection(`/ip4/10.0.0.${i}/tcp/1`))).filter(
        (denied) => denied === false,
      ).length;
    expect(accepted()).toBe(4);
    clock.now += 1_000;
    expect(accepted()).toBe(2);
  });

  it("count for their address, IPv6 ones for their network, until they are closed", () => {
    const gater = boundedInbound({ ...connectionLimits(30), maxOfAddress: 1 }, {}, systemClock);
    const first = connection("/ip6/2001:db8::1/tcp/1");
    expect(gater.denyInboundConnection!(first)).toBe(false);
    expect(gater.denyInboundConnection!(connection("/ip6/2001:db8::ffff/tcp/2"))).toBe(true);
    expect(gater.denyInboundConnection!(connection("/ip6/2001:db8:0:1::1/tcp/2"))).toBe(false);
    first.dispatchEvent(new Event("close"));
    expect(gater.denyInboundConnection!(connection("/ip6/2001:db8::ffff/tcp/2"))).toBe(false);
  });

  it("of an address are told apart by it", () => {
    expect(["192.0.2.1", "2001:db8::1", "::1", "2001:db8:1:2:3:4:5:6", "fe80::1%eth0"].map(sourceOf)).toEqual([
      "192.0.2.1",
      "2001:db8:0:0",
      "0:0:0:0",
      "2001:db8:1:2",
      "fe80:0:0:0",
    ]);
  });
});
