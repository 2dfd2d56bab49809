import type { PeerId } from "@libp2p/interface";
import { silentLogger } from "@rnode/observe";
import { describe, expect, it } from "vitest";
import { parseStaticPeers, StaticDialer } from "./static-peers.ts";

const A = "16Uiu2HAmEWQnHq2jLKJypwVnVoQeFCULuyop6atvq2eWjYSUjzNi";
const B = "16Uiu2HAm6YT98Hd3qAtop3TFM75uXvuyEhZYwPCfZ9mzRckmFkmW";

describe("static peers", () => {
  it("are those named, without ourselves, each with all its addresses", () => {
    const peers = parseStaticPeers(
      [`/ip4/192.0.2.1/tcp/9222/p2p/${A}`, `/ip4/192.0.2.2/tcp/1/p2p/${B}`, `/dns4/a.example/tcp/2/p2p/${A}`],
      B,
    );
    expect([...peers].map(([id, { addresses }]) => [id, addresses.map(String)])).toEqual([
      [A, [`/ip4/192.0.2.1/tcp/9222/p2p/${A}`, `/dns4/a.example/tcp/2/p2p/${A}`]],
    ]);
  });

  it.each([
    ["a.example:9222", /"a.example:9222" is not a multiaddress/],
    ["/ip4/192.0.2.1/tcp/9222", /does not name the peer/],
    [`/ip4/192.0.2.1/udp/9222/p2p/${A}`, /has no TCP port/],
    ["/ip4/192.0.2.1/tcp/9222/p2p/16Uiu2HAmnonsense", /"\/ip4\/192.0.2.1\/tcp\/9222\/p2p\/16Uiu2HAmnonsense"/],
  ])("%s is refused", (text, message) => {
    expect(() => parseStaticPeers([text], B)).toThrow(message);
    expect(() => parseStaticPeers([text], B)).toThrow(/expected an address such as/);
  });

  it("are dialled at the start, and every minute while they are not connected", async () => {
    const dials: string[] = [];
    const connected = new Set<string>();
    const minutes: (() => void)[] = [];
    const slept: number[] = [];
    const dialer = new StaticDialer(
      [...parseStaticPeers([`/ip4/192.0.2.1/tcp/1/p2p/${A}`, `/ip4/192.0.2.1/tcp/1/p2p/${B}`], "").values()],
      {
        node: {
          peerStore: { merge: async () => ({}) as never },
          getConnections: (peer: PeerId) => (connected.has(peer.toString()) ? [1] : []),
          dial: async (peer: PeerId) => {
            dials.push(peer.toString());
            if (peer.toString() === B) throw new Error("refused");
            connected.add(A);
          },
        },
        clock: {
          unixMs: () => 0,
          monotonicMs: () => 0,
          sleep: (ms, signal) => {
            slept.push(ms);
            return new Promise((resolve) => {
              minutes.push(resolve);
              signal?.addEventListener("abort", resolve);
            });
          },
        },
        log: silentLogger,
      },
    );
    const turn = () => new Promise((resolve) => setImmediate(resolve));
    dialer.start();
    await turn();
    expect(dials).toEqual([A, B]);
    minutes.shift()!();
    await turn();
    expect(dials).toEqual([A, B, B]);
    connected.clear();
    minutes.shift()!();
    await turn();
    expect(dials).toEqual([A, B, B, A, B]);
    expect(new Set(slept)).toEqual(new Set([60_000]));
    await dialer.close();
  });
});
