import assert from "node:assert/strict";
import { multiaddr } from "@multiformats/multiaddr";
import { createHost, type Host } from "../host/create-host.ts";
import { connectionLimits } from "../network.ts";
import type { PayloadVersion } from "../wire/payload-ssz.ts";
import { type GoBlock, GoPeer, type GoPeerView } from "./go-peer.ts";
import { goBlockOf, rollupOf, testBlock } from "./test-blocks.ts";

type StartGo = (...args: string[]) => Promise<GoPeer>;

/** One thing in which both implementations must agree. */
interface InteropCase {
  readonly name: string;
  readonly run: (start: StartGo) => Promise<void>;
}

const VERSIONS: readonly PayloadVersion[] = [1, 2, 3, 4];
/** `payload-ssz` counts from 1, and every chain of these tests has the id 901. */
const CHAIN = "--chain=901";

/** Each case has programs of its own. @returns how many cases passed and failed */
export async function runInterop(binary: string, print: (line: string) => void): Promise<{ passed: number; failed: number }> {
  const counts = { passed: 0, failed: 0 };
  for (const { name, run } of CASES) {
    const peers: GoPeer[] = [];
    try {
      await run(async (...args) => {
        const peer = await GoPeer.start(binary, [CHAIN, ...args]);
        peers.push(peer);
        return peer;
      });
      counts.passed++;
      print(`  passed  ${name}`);
    } catch (error) {
      counts.failed++;
      print(`  FAILED  ${name}: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
    }
    await Promise.all(peers.map(async (peer) => peer.close()));
  }
  return counts;
}

const CASES: readonly InteropCase[] = [
  ...VERSIONS.map((version) => ({
    name: `block hash of version ${version}`,
    run: async (start: StartGo) => {
      const rollup = rollupOf(version, 1_000);
      const transactions = [Uint8Array.of(0x7e, 1), new Uint8Array(300).fill(9), Uint8Array.of(2)];
      const ours = goBlockOf(testBlock(rollup, { number: 5, timestampSec: 1_010, transactions }), version);
      const go = await start();
      assert.deepEqual(await go.ask<GoBlock>("store", { block: ours }), ours);
    },
  })),
  {
    name: "connection by yamux, dialled by us",
    run: async (start) => {
      await withHost(async (host) => {
        const go = await start();
        const connection = await host.dial(go.identity.addresses.map((address) => multiaddr(address)));
        assert.deepEqual([connection.encryption, connection.multiplexer], ["/noise", "/yamux/1.0.0"]);
        assert.ok((await host.services.ping.ping(connection.remotePeer)) >= 0);
      });
    },
  },
  {
    name: "connection by mplex where the other has nothing else, dialled by it",
    run: async (start) => {
      await withHost(async (host) => {
        const go = await start("--muxers=mplex");
        await go.ask("connect", { address: host.getMultiaddrs()[0]!.toString() });
        const [seen] = await go.ask<GoPeerView[]>("peers");
        assert.deepEqual([seen?.id, seen?.security, seen?.muxer], [host.peerId.toString(), "/noise", "/mplex/6.7.0"]);
        assert.equal(seen?.agent, "rnode/interop");
      });
    },
  },
];

async function withHost(use: (host: Host) => Promise<void>): Promise<void> {
  const host = await createHost({
    networkKey: crypto.getRandomValues(new Uint8Array(32)),
    listen: { ip: "127.0.0.1", tcpPort: 0 },
    userAgent: "rnode/interop",
    limits: connectionLimits(30),
  });
  try {
    await host.start();
    await use(host);
  } finally {
    await host.stop();
  }
}
