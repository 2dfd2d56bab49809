import type { MultiaddrConnection } from "@libp2p/interface";
import { peerIdFromString } from "@libp2p/peer-id";
import { multiaddr } from "@multiformats/multiaddr";
import { createMetrics, silentLogger } from "@rnode/observe";
import { parseSubnet } from "@rnode/peering";
import { describe, expect, it } from "vitest";
import { createP2PMetrics } from "../p2p-metrics.ts";
import { ConnectionGate } from "./connection-gate.ts";
import { PeerRecords } from "./peer-records.ts";

const PEER = "16Uiu2HAmKVVub7edwZ3RKDnqMpZVsusYW9TKRgbwpH54nvDWLE4x";
const peerId = peerIdFromString(PEER);

function setUp({ netrestrict = [] as string[] } = {}) {
  const time = { sec: 1000 };
  const metrics = createMetrics({ prefix: "" });
  const records = new PeerRecords({ scoreRetentionSec: 1200, log: silentLogger });
  const unbanned: string[] = [];
  const gate = new ConnectionGate({
    records,
    netrestrict: netrestrict.map((text) => parseSubnet(text)!),
    nowSec: () => time.sec,
    metrics: createP2PMetrics(metrics),
    log: silentLogger,
    bandwidth: { track: () => {} },
    onPeerUnbanned: (peer) => unbanned.push(peer),
  });
  const counted = async (line: string) => (await metrics.expose()).body.includes(`\n${line}\n`);
  return { gate, records, time, unbanned, counted };
}

const connection = (address: string, remoteAddress?: string): MultiaddrConnection =>
  ({ remoteAddr: multiaddr(address), socket: { remoteAddress } }) as unknown as MultiaddrConnection;

describe("the connection gate", () => {
  it("lets everything through at first", () => {
    const { gate } = setUp();
    expect([
      gate.denyDialPeer(peerId),
      gate.denyDialMultiaddr(multiaddr("/ip4/192.0.2.1/tcp/1")),
      gate.denyInboundConnection(connection("/ip4/192.0.2.1/tcp/1")),
      gate.denyInboundEncryptedConnection(peerId, connection("/ip4/192.0.2.1/tcp/1")),
      gate.denyOutboundConnection(peerId, connection("/ip4/192.0.2.1/tcp/1")),
    ]).toEqual([false, false, false, false, false]);
  });

  it("refuses a blocked peer when dialling, and once an inbound handshake has shown who it is", () => {
    const { gate, records } = setUp();
    records.blockedPeers.set(PEER, PEER);
    expect(gate.denyDialPeer(peerId)).toBe(true);
    expect(gate.denyInboundEncryptedConnection(peerId, connection("/ip4/192.0.2.1/tcp/1"))).toBe(true);
    expect(gate.denyOutboundEncryptedConnection(peerId)).toBe(true);
  });

  it.each([
    ["/ip4/192.0.2.1/tcp/1", true],
    ["/ip6/::ffff:192.0.2.1/tcp/1", true],
    ["/ip4/192.0.2.2/tcp/1", false],
    ["/ip4/10.9.9.9/tcp/1", true],
    ["/ip6/::ffff:10.9.9.9/tcp/1", true],
    ["/ip6/2001:db8::1/tcp/1", true],
    ["/ip6/2001:db9::1/tcp/1", false],
  ])("with an address and networks blocked, %s is refused: %s", (address, isRefused) => {
    const { gate, records } = setUp();
    records.blockedAddrs.set("192.0.2.1", "192.0.2.1");
    for (const text of ["10.0.0.0/8", "2001:db8::/32"]) records.blockedSubnets.set(text, parseSubnet(text)!);
    expect(gate.denyDialMultiaddr(multiaddr(address))).toBe(isRefused);
    expect(gate.denyInboundConnection(connection(address))).toBe(isRefused);
    expect(gate.denyOutboundConnection(peerId, connection(address))).toBe(isRefused);
  });

  it("checks where a host name has led to", () => {
    const { gate, records } = setUp();
    records.blockedAddrs.set("192.0.2.1", "192.0.2.1");
    expect(gate.denyDialMultiaddr(multiaddr("/dns4/example.org/tcp/1"))).toBe(false);
    expect(gate.denyOutboundConnection(peerId, connection("/dns4/example.org/tcp/1", "192.0.2.1"))).toBe(true);
    expect(gate.denyOutboundConnection(peerId, connection("/dns4/example.org/tcp/1", "192.0.2.2"))).toBe(false);
  });

  it("keeps to the networks of netrestrict", () => {
    const { gate } = setUp({ netrestrict: ["10.0.0.0/8", "fd00::/8"] });
    expect(gate.denyDialMultiaddr(multiaddr("/ip4/10.1.1.1/tcp/1"))).toBe(false);
    expect(gate.denyDialMultiaddr(multiaddr("/ip4/11.1.1.1/tcp/1"))).toBe(true);
    expect(gate.denyInboundConnection(connection("/ip6/fd00::1/tcp/1"))).toBe(false);
    expect(gate.denyInboundConnection(connection("/ip6/fe80::1/tcp/1"))).toBe(true);
    expect(gate.denyOutboundConnection(peerId, connection("/dns4/example.org/tcp/1", "11.1.1.1"))).toBe(true);
  });

  it("refuses a banned peer until its time, then forgets the ban and its cause, and counts both", async () => {
    const { gate, records, time, unbanned, counted } = setUp();
    records.bans.set(PEER, { expiry: 1010, lastUpdate: 1000, reason: "score" });
    time.sec = 1009;
    expect(gate.denyInboundEncryptedConnection(peerId, connection("/ip4/192.0.2.1/tcp/1"))).toBe(true);
    time.sec = 1010;
    expect(gate.denyInboundEncryptedConnection(peerId, connection("/ip4/192.0.2.1/tcp/1"))).toBe(false);
    expect(records.bans.size).toBe(0);
    expect(unbanned).toEqual([PEER]);
    expect(await counted("p2p_peer_unbans 1")).toBe(true);
    expect(await counted('p2p_accepts{allow="false"} 1')).toBe(true);
    expect(await counted('p2p_accepts{allow="true"} 1')).toBe(true);
  });

  it("refuses a banned address until its time", async () => {
    const { gate, records, time, counted } = setUp();
    records.ipBans.set("192.0.2.1", { expiry: 1010, lastUpdate: 1000, reason: "" });
    expect(gate.denyDialMultiaddr(multiaddr("/ip6/::ffff:192.0.2.1/tcp/1"))).toBe(true);
    time.sec = 1010;
    expect(gate.denyDialMultiaddr(multiaddr("/ip4/192.0.2.1/tcp/1"))).toBe(false);
    expect(await counted("p2p_ip_unbans 1")).toBe(true);
    expect(await counted('p2p_dials{allow="false"} 1')).toBe(true);
  });
});
