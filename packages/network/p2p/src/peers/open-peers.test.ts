import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type GossipSub, gossipsub, TopicValidatorResult } from "@libp2p/gossipsub";
import type { Libp2p } from "@libp2p/interface";
import { noMetrics, silentLogger } from "@rnode/observe";
import { bytesToHex, privateKeyToAddress } from "@rnode/primitives";
import { SimClock, until } from "@rnode/program/testing";
import { testRollupConfig } from "@rnode/protocol/testing";
import { afterEach, describe, expect, it } from "vitest";
import { createHost } from "../host/create-host.ts";
import { connectionLimits, type P2PConfig } from "../network.ts";
import { createP2PMetrics } from "../p2p-metrics.ts";
import type { DiscoveryView, PeersPart } from "../parts.ts";
import { openPeers, type PeersOptions } from "./open-peers.ts";
import type { PeerApi } from "./peer-api.ts";

const rollup = testRollupConfig();
const topics = [0, 1, 2, 3].map((version) => `/optimism/${rollup.l2ChainId}/${version}/blocks`);
const settings: P2PConfig["peers"] = {
  low: 20,
  high: 30,
  graceMs: 30_000,
  scoring: "light",
  ban: { enabled: true, threshold: -100, durationMs: 3_600_000 },
};

interface TestNode {
  readonly clock: SimClock;
  readonly peers: PeersPart;
  readonly node: Libp2p;
  readonly gossip: GossipSub;
  readonly api: PeerApi;
  readonly id: string;
  readonly address: string;
  close(): Promise<void>;
}

const running: TestNode[] = [];
afterEach(async () => {
  await Promise.all(running.splice(0).map((node) => node.close()));
});

/** A message that a test node takes for a valid block. Every other is invalid. */
const VALID = 0xaa;

/** A node whose upkeep has its own clock. */
async function start(key: number, options: Partial<PeersOptions> = {}, discovery?: DiscoveryView): Promise<TestNode> {
  const clock = new SimClock(Date.now());
  const deps = { clock, log: silentLogger, metrics: createP2PMetrics(noMetrics) };
  const peers = await openPeers({ rollup, peers: settings, netrestrict: [], staticPeers: { has: () => false }, ...options }, deps);
  const node = await createHost({
    networkKey: new Uint8Array(32).fill(key),
    listen: { ip: "127.0.0.1", tcpPort: 0 },
    userAgent: `test/${key}`,
    limits: { ...connectionLimits(30), maxOfAddress: 64, acceptsPerSecOfAddress: 64 },
    gater: peers.gater,
    datastore: peers.datastore,
    services: {
      pubsub: gossipsub({
        ...peers.gossipScoring,
        globalSignaturePolicy: "StrictNoSign",
        heartbeatInterval: 100,
        allowPublishToZeroTopicPeers: true,
        msgIdFn: ({ data }) => data,
      }),
    },
  });
  await node.start();
  const gossip = node.services.pubsub as GossipSub;
  for (const topic of topics) {
    gossip.topicValidators.set(topic, (_, { data }) =>
      data[0] === VALID ? TopicValidatorResult.Accept : TopicValidatorResult.Reject,
    );
    gossip.subscribe(topic);
  }
  const api = peers.attach({
    node: node as unknown as Libp2p,
    pubsub: gossip,
    discovery,
    latencyNs: () => 1_500_000,
    equivocations: () => [],
  });
  const started: TestNode = {
    clock,
    peers,
    node: node as unknown as Libp2p,
    gossip,
    api,
    id: node.peerId.toString(),
    address: node.getMultiaddrs()[0]!.toString(),
    async close() {
      await node.stop();
      await peers.close();
    },
  };
  running.push(started);
  return started;
}

async function stop(node: TestNode): Promise<void> {
  running.splice(running.indexOf(node), 1);
  await node.close();
}

const connected = (a: TestNode, b: TestNode): boolean => a.node.getPeers().some((peer) => peer.toString() === b.id);

describe("peers over loopback", () => {
  it("one that sends invalid blocks is scored, banned with a reason, and cannot come back until its time", async () => {
    const [a, b] = [await start(1), await start(2)];
    await b.api.connectPeer(a.address);
    await until(
      "both are subscribed",
      () => b.gossip.getSubscribers(topics[0]!).length === 1 && a.gossip.getSubscribers(topics[0]!).length === 1,
    );
    for (const version of [1, 2, 3]) await b.gossip.publish(topics[0]!, new Uint8Array([version]));
    await until("the blocks are rejected", () => (a.gossip as unknown as { getScore(peer: string): number }).getScore(b.id) < -400);

    await a.clock.advance(20_000); // a snapshot, and the next looks at the peer
    expect(await a.api.listBans()).toEqual([]); // the fault may be ours
    await a.gossip.publish(topics[0]!, new Uint8Array([VALID]));
    await a.clock.advance(1000);
    await until("it is disconnected", () => !connected(a, b));
    const [ban] = await a.api.listBans();
    expect(ban).toMatchObject({ banned: b.id, secondsLeft: expect.any(Number) });
    expect(ban?.reason).toMatch(/^score -\d+(\.\d+)? is below -100: invalid blocks [123](\.\d+)?$/);
    const refused = async () => ({
      bans: (await a.api.listBans()).length,
      peers: (await a.api.peers(true)).bannedPeers,
      stats: (await a.api.peerStats()).banned,
    });
    expect(await refused()).toEqual({ bans: 1, peers: [b.id], stats: 1 });
    expect(await a.api.listBlockedPeers()).toEqual([]); // no peer is blocked

    await expect(a.api.connectPeer(b.address)).rejects.toThrow(/banned/);
    await b.api.connectPeer(a.address).catch(() => {});
    await until("it is refused", () => !connected(b, a));
    expect(connected(a, b)).toBe(false);

    await a.clock.advance(1000 * (ban!.expiry - Math.floor(a.clock.unixMs() / 1000) - 1));
    expect(await refused()).toEqual({ bans: 1, peers: [b.id], stats: 1 });
    await b.api.connectPeer(a.address).catch(() => {});
    await until("it is refused in the last second", () => !connected(b, a));
    await a.clock.advance(1000);
    expect(await refused()).toEqual({ bans: 0, peers: [], stats: 0 });
    await b.api.connectPeer(a.address);
    await until("it is back", () => connected(a, b));
    expect(await a.api.listBans()).toEqual([]);
    expect((await a.api.peerStats()).banned).toBe(0);
    await a.clock.advance(20_000);
    expect(connected(a, b)).toBe(true);
  });

  it("a bad score is not lost by leaving and coming back", async () => {
    const [a, b] = [await start(1, { peers: { ...settings, ban: { ...settings.ban, enabled: false } } }), await start(2)];
    const score = () => (a.gossip as unknown as { getScore(peer: string): number }).getScore(b.id);
    await b.api.connectPeer(a.address);
    await until("both are subscribed", () => b.gossip.getSubscribers(topics[0]!).length === 1);
    await b.gossip.publish(topics[0]!, new Uint8Array([1]));
    await until("the block is rejected", () => score() < -100);
    await b.node.hangUp(a.node.peerId);
    await until("it has left", () => !connected(a, b));
    await b.api.connectPeer(a.address);
    await until("it is back in gossip", () =>
      (a.gossip.getPeers() as readonly { toString(): string }[]).some((peer) => peer.toString() === b.id),
    );
    await new Promise((resolve) => setTimeout(resolve, 300)); // scores are cached for a heartbeat
    expect(score()).toBeLessThan(-50);
  });

  it("a restart keeps bans, blocks and protections", async () => {
    const folder = mkdtempSync(join(tmpdir(), "rnode-peers-"));
    const options = { peers: { ...settings, path: join(folder, "db") } };
    const first = await start(1, options);
    const b = await start(2);
    await first.api.blockPeer(b.id);
    await first.api.blockAddr("192.0.2.1");
    await first.api.blockSubnet("10.1.2.3/8");
    await first.api.protectPeer(b.id);
    await stop(first);
    const second = await start(1, options);
    expect(await second.api.listBlockedPeers()).toEqual([b.id]);
    expect(await second.api.listBlockedAddrs()).toEqual(["192.0.2.1"]);
    expect(await second.api.listBlockedSubnets()).toEqual(["10.0.0.0/8"]);
    expect(second.peers.isProtected(b.id)).toBe(true);
    await expect(second.api.connectPeer(b.address)).rejects.toThrow(/blocked/);
    await second.api.unblockPeer(b.id);
    await second.api.connectPeer(b.address);
    await stop(second);
  });

  it("too many are pruned to the low tide, but none that is protected or static", async () => {
    const others = [await start(2), await start(3), await start(4), await start(5), await start(6)];
    const [b, c, d, e, f] = others as [TestNode, TestNode, TestNode, TestNode, TestNode];
    const a = await start(1, {
      peers: { ...settings, low: 3, high: 4, graceMs: 0 },
      staticPeers: { has: (peer) => peer === f.id },
    });
    await a.api.protectPeer(c.id);
    a.peers.onDiscovered(d.id, { enr: "enr:-d", chainId: Number(rollup.l2ChainId) });
    for (const other of others) await other.api.connectPeer(a.address);
    await until("all are connected", () => a.node.getPeers().length === 5);
    await a.clock.advance(20_000);
    await until("there are no more than the low tide", () => a.node.getPeers().length === 3);
    expect(a.node.getPeers().map(String).sort()).toEqual([c.id, d.id, f.id].sort());
    expect([connected(a, b), connected(a, e)]).toEqual([false, false]);
  });
});

describe("rnodep2p_* over loopback", () => {
  const PEER_INFO = {
    peerID: expect.stringMatching(/^16Uiu2HA/),
    nodeID: expect.stringMatching(/^[0-9a-f]{64}$/),
    userAgent: expect.any(String),
    protocolVersion: expect.any(String),
    ENR: "",
    addresses: [expect.stringMatching(/^\/ip4\/127\.0\.0\.1\/tcp\/\d+\/p2p\/16Uiu2HA/)],
    protocols: expect.arrayContaining(["/meshsub/1.1.0"]),
    connectedness: 1,
    direction: 1,
    protected: false,
    chainID: 0,
    latency: 1_500_000,
    gossipBlocks: true,
    scores: {
      gossip: {
        total: 0,
        blocks: { timeInMesh: 0, firstMessageDeliveries: 0, meshMessageDeliveries: 0, invalidMessageDeliveries: 0 },
        IPColocationFactor: 0,
        behavioralPenalty: 0,
      },
      reqResp: { validResponses: 0, errorResponses: 0, rejectedPayloads: 0 },
    },
  };

  it("answers in the shapes of docs/protocol/04-rpc.md#namespace-rnodep2p", async () => {
    const records = ["enr:-one", "enr:-two"];
    const discovery: DiscoveryView = { enr: "enr:-self", table: () => records, recordOf: () => undefined };
    const [a, b] = [await start(1, {}, discovery), await start(2)];
    expect(await a.api.self()).toEqual({
      ...PEER_INFO,
      peerID: a.id,
      // keccak256 of the public key, whose last 20 bytes are the key's address
      nodeID: expect.stringMatching(new RegExp(`${bytesToHex(privateKeyToAddress(new Uint8Array(32).fill(1))).slice(2)}$`)),
      userAgent: "test/1",
      ENR: "enr:-self",
      addresses: [a.address],
      connectedness: 0,
      direction: 0,
      chainID: Number(rollup.l2ChainId),
      latency: 0,
    });
    await b.api.connectPeer(a.address);
    await until("it is identified and subscribed", async () => {
      const info = (await a.api.peers(true)).peers[b.id];
      return info?.gossipBlocks === true && info.userAgent !== "" && (info.protocols ?? []).includes("/meshsub/1.1.0");
    });
    expect(await a.api.peers(true)).toEqual({
      totalConnected: 1,
      peers: { [b.id]: { ...PEER_INFO, peerID: b.id, userAgent: "test/2" } },
      bannedPeers: [],
      bannedIPS: [],
      bannedSubnets: [],
    });
    expect((await b.api.peers(true)).peers[a.id]).toMatchObject({ direction: 2, userAgent: "test/1" });
    expect(await a.api.peerStats()).toEqual({
      connected: 1,
      table: 2,
      blocksTopic: 1,
      blocksTopicV2: 1,
      blocksTopicV3: 1,
      blocksTopicV4: 1,
      banned: 0,
      known: 1,
    });
    expect(await a.api.discoveryTable()).toEqual(records);
    expect(await b.api.discoveryTable()).toBeUndefined();

    await a.api.blockPeer(b.id);
    await a.api.blockPeer(b.id);
    await a.api.protectPeer(b.id);
    expect((await a.api.peers(true)).bannedPeers).toEqual([b.id]);
    expect((await a.api.peerStats()).banned).toBe(1);
    expect(connected(a, b)).toBe(true); // blocking closes nothing
    await a.api.disconnectPeer(b.id);
    await until("it has left", () => !connected(a, b));
    expect(await a.api.listBlockedPeers()).toEqual([]);
    expect((await a.api.peers(false)).peers).toEqual({});
    a.peers.onDiscovered(b.id, { enr: "enr:-b", chainId: 10 });
    await until("it is known again", async () => (await a.api.peers(false)).peers[b.id] !== undefined);
    expect((await a.api.peers(false)).peers[b.id]).toMatchObject({
      connectedness: 0,
      direction: 0,
      protected: true,
      ENR: "enr:-b",
      chainID: 10,
      latency: 0,
      gossipBlocks: false,
    });
    expect((await a.api.peers(true)).peers).toEqual({});
  });

  it("says why a peer could not be reached", async () => {
    const [a, b] = [await start(1), await start(2)];
    const { address, id } = b;
    await stop(b);
    await expect(a.api.connectPeer(address)).rejects.toThrow(`peer ${id} cannot be reached`);
  });
});
