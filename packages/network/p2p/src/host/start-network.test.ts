import { createMetrics, type MetricFactory, noMetrics, silentLogger } from "@rnode/observe";
import { systemClock } from "@rnode/program";
import { localSigner } from "@rnode/signer";
import { afterEach, describe, expect, it } from "vitest";
import type { P2PConfig, P2PNetwork } from "../network.ts";
import { rollupOf, signatureOf, testBlock } from "../testing/test-blocks.ts";
import { ReceivedBlocks, temporaryFolder, testP2PConfig } from "../testing/test-network.ts";
import { startNetwork } from "./start-network.ts";

const nowSec = Math.floor(Date.now() / 1_000);
const rollup = rollupOf(4, nowSec - 1_000);
const signer = localSigner(new Uint8Array(32).fill(0x11));

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

interface Node {
  readonly network: P2PNetwork;
  readonly received: ReceivedBlocks;
}

async function start(key: number, over: Partial<P2PConfig> = {}, metrics: MetricFactory = noMetrics): Promise<Node> {
  const received = new ReceivedBlocks();
  const network = await startNetwork(
    testP2PConfig(rollup, key, over),
    { onUnsafePayload: received.add, payloadByNumber: async () => undefined },
    { clock: systemClock, random: Math.random, log: silentLogger, metrics },
  );
  closers.push(() => network.close());
  network.setUnsafeBlockSigner(signer.address);
  return { network, received };
}

/** Publishes until the mesh has formed; every block is another. */
async function publishUntilSent({ network }: Node): Promise<number> {
  for (let number = 1; ; number++) {
    const block = testBlock(rollup, { number, timestampSec: nowSec });
    const published = await network.publish(block, await signatureOf(rollup, block, signer));
    if (published.kind === "published" && published.peers > 0) return number;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

describe("the network", () => {
  it("brings a block that one publishes to the other, which knows who sent it", async () => {
    const a = await start(1);
    const b = await start(2, { staticPeers: [a.network.identity.addresses[0]!] });
    const number = await publishUntilSent(a);
    const [first] = await b.received.until(1);
    expect(first).toMatchObject({ envelope: { executionPayload: { blockNumber: number } }, from: a.network.identity.peerId });
    expect(a.received.blocks).toEqual([]); // its own
    expect((await b.network.api.peers(true)).totalConnected).toBe(1);
  });

  it("takes blocks of the sequencer's new key at once, from peers whose blocks it rejected before it knew the key", async () => {
    const metrics = createMetrics({ prefix: "" });
    const a = await start(1, {}, metrics);
    const b = await start(2, { staticPeers: [a.network.identity.addresses[0]!] });
    const newSigner = localSigner(new Uint8Array(32).fill(0x22));
    b.network.setUnsafeBlockSigner(newSigner.address);
    const publish = async (number: number): Promise<void> => {
      const block = testBlock(rollup, { number, timestampSec: nowSec });
      await b.network.publish(block, await signatureOf(rollup, block, newSigner));
    };
    for (let number = 1; !/REJECT_MESSAGE"\} [1-9]/.test((await metrics.expose()).body); number++) {
      await publish(number);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    await new Promise((resolve) => setTimeout(resolve, 1_200)); // for so long, the router goes by the score that it knew
    a.network.setUnsafeBlockSigner(newSigner.address);
    await publish(1000);
    const [block] = await a.received.until(1);
    expect(block?.envelope.executionPayload.blockNumber).toBe(1000);
  });

  it("keeps its identity over a restart, and what an operator blocked", async () => {
    const folder = temporaryFolder();
    closers.unshift(() => folder.remove());
    const peers = { ...testP2PConfig(rollup, 3).peers, path: folder.path };
    const other = await start(4);
    const first = await start(3, { peers });
    await first.network.api.blockPeer(other.network.identity.peerId);
    await first.network.close();
    const again = await start(3, { peers });
    expect(again.network.identity.peerId).toBe(first.network.identity.peerId);
    expect(await again.network.api.listBlockedPeers()).toEqual([other.network.identity.peerId]);
    await expect(start(5, { peers })).rejects.toMatchObject({ setting: "peerstore.path", message: /another node uses the folder/ });
  });

  it("finds peers of its chain by discovery, and connects to them", async () => {
    const discovery = (bootnodes: string[] = []) => ({ discovery: { enabled: true, bootnodes } });
    const boot = await start(6, discovery());
    const enr = boot.network.identity.enr!;
    const a = await start(7, discovery([enr]));
    const number = await publishUntilSent(boot);
    await a.received.until(1);
    expect(number).toBeGreaterThan(0);
    expect((await boot.network.api.peers(true)).peers[a.network.identity.peerId]).toMatchObject({
      chainID: Number(rollup.l2ChainId),
    });
    expect(await boot.network.api.discoveryTable()).toContain(a.network.identity.enr);
  });

  it("says which port is taken, and leaves nothing open", async () => {
    const a = await start(8);
    const listen = { ip: "127.0.0.1", tcpPort: a.network.identity.tcpPort, udpPort: 0 };
    await expect(start(9, { listen })).rejects.toMatchObject({ setting: "listen.tcp", message: /TCP port \d+ is taken/ });
  });

  it.each([
    ["static", { staticPeers: ["/ip4/1.2.3.4/tcp/5"] }, /"\/ip4\/1.2.3.4\/tcp\/5" does not name the peer/],
    ["netrestrict", { netrestrict: ["10.0.0.0"] }, /"10.0.0.0" is not a network/],
    ["bootnodes", { discovery: { enabled: true, bootnodes: ["enode://1@2"] } }, /"enode:\/\/1@2" is not such a text/],
    ["advertise.ip", { advertise: { ip: "name.invalid" } }, /"name.invalid" cannot be resolved/],
    ["listen.ip", { listen: { ip: "192.0.2.1", tcpPort: 0, udpPort: 0 } }, /192.0.2.1 is no address of this machine/],
  ])("does not start with a bad setting: %s", async (setting, over, message) => {
    await expect(start(10, over)).rejects.toMatchObject({ setting, message });
  });

  it("advertises what it was told to", async () => {
    const { network } = await start(11, {
      advertise: { ip: "127.0.0.1", tcpPort: 4_001, udpPort: 4_002 },
      discovery: { enabled: true, bootnodes: [] },
    });
    expect(network.identity.addresses).toEqual([`/ip4/127.0.0.1/tcp/4001/p2p/${network.identity.peerId}`]);
    expect(network.identity.reachabilityWarning).toMatch(/127.0.0.1 is a private address/);
  });
});
