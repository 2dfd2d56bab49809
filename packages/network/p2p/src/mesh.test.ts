import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bytesToHex } from "@rnode/primitives";
import { until } from "@rnode/program/testing";
import type { ExecutionPayloadEnvelope } from "@rnode/protocol";
import { afterEach, describe, expect, it } from "vitest";
import { nowSec } from "./testing/running-clock.ts";
import { rollupOf, testBlock, testChain } from "./testing/test-blocks.ts";
import { TestNode, type TestNodeOptions } from "./testing/test-node.ts";

/** Whole networks over loopback sockets. `RNODE_P2P_MESH=1` makes them as large as they are meant to be; see lab/bench for times. */
const isLarge = process.env.RNODE_P2P_MESH === "1";
const MESH_NODES = isLarge ? 20 : 8;
const MESH_BLOCKS = isLarge ? 50 : 10;
const GAP_BLOCKS = isLarge ? 500 : 40;

const closers: (() => unknown)[] = [];
afterEach(async () => {
  await Promise.all(closers.splice(0).map(async (close) => close()));
});

/** Old enough to have a chain, new enough for its blocks to be gossiped. */
const rollup = rollupOf(4, nowSec() - 2 * (GAP_BLOCKS + 5));

async function start(options: Partial<TestNodeOptions> = {}): Promise<TestNode> {
  const node = await TestNode.start({ rollup, ...options });
  closers.push(() => node.close());
  return node;
}

let height = 10_000;
const newBlock = (): ExecutionPayloadEnvelope => testBlock(rollup, { number: height++, timestampSec: nowSec() });

describe("a mesh", () => {
  it("brings every block to every node, whoever publishes it", { tags: "long" }, async () => {
    const nodes = await Promise.all(Array.from({ length: MESH_NODES }, () => start()));
    // a ring with chords: no node is connected to all
    await Promise.all(nodes.flatMap((node, index) => [1, 3].map((step) => node.connect(nodes[(index + step) % nodes.length]!))));
    const blocks: ExecutionPayloadEnvelope[] = [];
    for (let index = 0; index < MESH_BLOCKS; index++) {
      const publisher = nodes[(7 * index) % nodes.length]!;
      const block = newBlock();
      blocks.push(block);
      expect(await publisher.publish(block)).toMatchObject({ kind: "published" });
      await Promise.all(nodes.filter((node) => node !== publisher).map((node) => node.arrived(block)));
    }
    for (const node of nodes) expect(node.arrivals.size).toBeLessThanOrEqual(blocks.length);
  });

  it("heals when its parts are connected again", async () => {
    const [a, b, c, d] = [await start(), await start(), await start(), await start()];
    await a.connect(b);
    await c.connect(d);
    const apart = newBlock();
    await a.publish(apart);
    await b.arrived(apart);
    expect([c, d].map((node) => node.arrivals.size)).toEqual([0, 0]);

    await b.connect(c);
    const together = newBlock();
    await a.publish(together);
    await Promise.all([b, c, d].map((node) => node.arrived(together)));
    const back = newBlock();
    await d.publish(back);
    await Promise.all([a, b, c].map((node) => node.arrived(back)));
  });
});

describe("a node that is behind", () => {
  it("gets what is missing from its peers, in an order that leads back to what it has", { timeout: 180_000 }, async () => {
    const chain = testChain(rollup, 1, GAP_BLOCKS + 1);
    const peers = [await start(), await start(), await start()];
    for (const peer of peers) for (const block of chain) peer.blocks.set(block.executionPayload.blockNumber, block);
    const behind = await start();
    for (const peer of peers) await behind.connect(peer);

    const known = chain[0]!.executionPayload;
    // Like the rollup node: received blocks move the upper end down.
    const ask = (): void => {
      let end = chain.at(-1)!.executionPayload;
      for (const { executionPayload } of chain.slice(1, -1).reverse()) {
        if (!behind.arrivals.has(bytesToHex(executionPayload.blockHash))) break;
        end = executionPayload;
      }
      if (end.blockNumber === known.blockNumber + 1) return;
      behind.network.requestGap({
        start: { number: known.blockNumber, hash: known.blockHash },
        end: { number: end.blockNumber, hash: end.blockHash, parentHash: end.parentHash },
      });
    };
    const timer = setInterval(ask, 1_000);
    closers.push(() => clearInterval(timer));
    ask();
    await Promise.all(chain.slice(1, -1).map((block) => behind.arrived(block, 150_000)));
    expect(behind.arrivals.size).toBe(GAP_BLOCKS - 1);
  });
});

describe("a restart", () => {
  it("keeps the identity, blocked and protected peers", async () => {
    const folder = mkdtempSync(join(tmpdir(), "rnode-p2p-"));
    const networkKey = new Uint8Array(32).fill(0x21);
    const options = { networkKey, peers: { path: join(folder, "peers") } };
    const [friend, foe] = [await start(), await start()];
    const first = await TestNode.start({ rollup, ...options });
    await first.connect(friend);
    await first.connect(foe);
    await first.network.api.protectPeer(friend.peerId);
    await first.network.api.blockPeer(foe.peerId);
    await first.network.api.blockAddr("192.0.2.7");
    await first.network.api.blockSubnet("198.51.100.0/24");
    await first.close();

    const second = await start(options);
    expect(second.peerId).toBe(first.peerId);
    expect(await second.network.api.listBlockedPeers()).toEqual([foe.peerId]);
    expect(await second.network.api.listBlockedAddrs()).toEqual(["192.0.2.7"]);
    expect(await second.network.api.listBlockedSubnets()).toEqual(["198.51.100.0/24"]);
    // It can appear connected for a moment.
    await foe.network.api.connectPeer(second.address).catch(() => {});
    await friend.connect(second);
    await until("the foe to be gone", async () => !(foe.peerId in (await second.network.api.peers(true)).peers));
    const { peers } = await second.network.api.peers(true);
    expect(Object.keys(peers)).toEqual([friend.peerId]);
    expect(peers[friend.peerId]?.protected).toBe(true);
  });
});
