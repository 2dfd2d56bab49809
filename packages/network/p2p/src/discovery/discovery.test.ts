import { ECDH } from "node:crypto";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ENR } from "@chainsafe/enr";
import { noMetrics, silentLogger } from "@rnode/observe";
import type { Clock } from "@rnode/primitives";
import { systemClock } from "@rnode/program";
import { afterEach, describe, expect, it } from "vitest";
import { Discovery, type DiscoveryOptions } from "./discovery.ts";
import type { RecordedPeer } from "./node-record.ts";

// Nodes on loopback sockets.

/** The machine's clock, with shorter waits: the tests wait for events. */
const quickClock: Clock = { ...systemClock, sleep: (ms, signal) => systemClock.sleep(Math.min(ms, 50), signal) };

const running: Discovery[] = [];
let lastKey = 0;

class Found {
  readonly peers = new Map<string, RecordedPeer>();
  #waiting: (() => void)[] = [];
  add(peer: RecordedPeer): void {
    this.peers.set(peer.peerId, peer);
    for (const wake of this.#waiting.splice(0)) wake();
  }
  async until(count: number): Promise<RecordedPeer[]> {
    while (this.peers.size < count) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    return [...this.peers.values()];
  }
}

async function startNode(options: Partial<DiscoveryOptions> = {}): Promise<{ discovery: Discovery; found: Found }> {
  const found = new Found();
  const discovery = new Discovery(
    {
      networkKey: new Uint8Array(32).fill(++lastKey),
      l1ChainId: 900n,
      l2ChainId: 901n,
      listen: { ip: "127.0.0.1", udpPort: 0 },
      advertise: { ip: "127.0.0.1", tcpPort: 9_000 + lastKey },
      bootnodes: [],
      netrestrict: [],
      ...options,
    },
    { clock: quickClock, log: silentLogger, metrics: noMetrics, onPeer: (peer) => found.add(peer), wantsPeers: () => true },
  );
  running.push(discovery);
  await discovery.start();
  return { discovery, found };
}
afterEach(async () => {
  await Promise.all(running.splice(0).map((discovery) => discovery.close()));
});

const enodeOf = (discovery: Discovery): string => {
  const record = ENR.decodeTxt(discovery.enr);
  const key = ECDH.convertKey(record.publicKey, "secp256k1", undefined, "hex", "uncompressed") as string;
  return `enode://${key.slice(2)}@${record.ip}:0?discport=${record.udp}`;
};

describe("discovery", () => {
  it("finds nodes of the same chain through a bootnode that is of another, and none of another chain", async () => {
    const boot = await startNode({ l2ChainId: 10n });
    const a = await startNode({ bootnodes: [boot.discovery.enr] });
    const b = await startNode({ bootnodes: [boot.discovery.enr] });
    const [peer] = await a.found.until(1);
    expect(peer).toMatchObject({
      enr: b.discovery.enr,
      address: expect.stringMatching(/^\/ip4\/127\.0\.0\.1\/tcp\/9\d+$/),
      chainId: 901n,
    });
    expect(a.discovery.recordOf(peer!.peerId)).toEqual({ enr: b.discovery.enr, chainId: 901 });
    await b.found.until(1);
    expect([a.found.peers.size, b.found.peers.size, boot.found.peers.size]).toEqual([1, 1, 0]);
    expect(a.discovery.table()).toContain(boot.discovery.enr);
  });

  it("asks a bootnode of which only key and address are known for its record", async () => {
    const b = await startNode();
    const a = await startNode({ bootnodes: [enodeOf(b.discovery)] });
    expect((await a.found.until(1))[0]?.enr).toBe(b.discovery.enr);
    await b.found.until(1);
  });

  it("keeps to the networks that it was given", async () => {
    const b = await startNode();
    const inside = await startNode({ bootnodes: [b.discovery.enr], netrestrict: ["127.0.0.0/8"] });
    const outside = await startNode({ bootnodes: [b.discovery.enr], netrestrict: ["10.0.0.0/8"] });
    await b.found.until(1);
    await inside.found.until(1);
    expect([...b.found.peers.values()].map(({ enr }) => enr)).toEqual([inside.discovery.enr]);
    expect(outside.found.peers.size).toBe(1); // the bootnode's record, which is not requested
  });

  it("keeps records over a restart, so that no bootnode is needed", async () => {
    const folder = mkdtempSync(join(tmpdir(), "rnode-discovery-"));
    const b = await startNode();
    const networkKey = new Uint8Array(32).fill(77);
    const first = await startNode({ networkKey, path: folder, bootnodes: [b.discovery.enr] });
    await first.found.until(1);
    await first.discovery.close();
    const again = await startNode({ networkKey, path: folder });
    expect((await again.found.until(1))[0]?.enr).toBe(b.discovery.enr);
  });

  it("says which bootnode is bad, and which network", async () => {
    await expect(startNode({ bootnodes: ["enr:nonsense"] })).rejects.toThrow(/"enr:nonsense" is not a valid record/);
    await expect(startNode({ bootnodes: ["enode://12@1.2.3.4:5"] })).rejects.toThrow(/"enode:\/\/12@1.2.3.4:5"/);
    await expect(startNode({ netrestrict: ["10.0.0.0/33"] })).rejects.toThrow(/"10.0.0.0\/33" is not a network/);
  });

  it("says that the port is taken", async () => {
    const { discovery } = await startNode();
    const udpPort = ENR.decodeTxt(discovery.enr).udp!;
    await expect(startNode({ listen: { ip: "127.0.0.1", udpPort } })).rejects.toMatchObject({ setting: "listen.udp" });
  });
});
