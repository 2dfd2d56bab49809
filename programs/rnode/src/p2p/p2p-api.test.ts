import { createRpcClient, createRpcServer, type RpcClient } from "@rnode/jsonrpc";
import { createMetrics, silentLogger } from "@rnode/observe";
import { connectionLimits, openNetwork, type P2PNetwork, type PeerDump, type PeerInfo } from "@rnode/p2p";
import { testP2PConfig } from "@rnode/p2p/testing";
import { systemClock } from "@rnode/program";
import { until } from "@rnode/program/testing";
import { testRollupConfig } from "@rnode/protocol/testing";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { peersCommand } from "../commands/peers-command.ts";
import { p2pMethods } from "./p2p-methods.ts";

const rollup = testRollupConfig({ blockTimeSec: 1 });
const metrics = createMetrics({ prefix: "rnode_default_" });

const start = (key: number, of = createMetrics({ prefix: "" })): Promise<P2PNetwork> =>
  openNetwork(
    testP2PConfig(rollup, key, { userAgent: `rnode/${key}`, limits: connectionLimits(30) }),
    { onUnsafePayload: () => {}, payloadByNumber: () => Promise.resolve(undefined) },
    { clock: systemClock, random: Math.random, log: silentLogger, metrics: of },
  );

describe("rnodep2p_* of a running network", () => {
  let network: P2PNetwork;
  let other: P2PNetwork;
  let client: RpcClient;
  let url: string;
  const closers: (() => Promise<unknown>)[] = [];
  beforeAll(async () => {
    network = await start(1, metrics);
    closers.push(() => network.close());
    other = await start(2);
    closers.push(() => other.close());
    const server = createRpcServer({
      http: { host: "127.0.0.1", port: 0 },
      methods: p2pMethods(network.api),
      log: silentLogger,
    });
    const { httpPort } = await server.listen();
    closers.push(() => server.close());
    url = `http://127.0.0.1:${httpPort}`;
    client = createRpcClient({ url });
    closers.push(() => client.close());
  });
  afterAll(async () => {
    for (const close of closers.reverse()) await close();
  });
  const call = <T = unknown>(name: string, ...params: unknown[]): Promise<T> => client.call<T>(`rnodep2p_${name}`, params);
  const peer = async (): Promise<PeerInfo | undefined> => (await call<PeerDump>("peers", true)).peers[other.identity.peerId];

  const shape = {
    nodeID: expect.stringMatching(/^[0-9a-f]{64}$/),
    protocolVersion: expect.any(String),
    ENR: "",
    protected: false,
    scores: {
      gossip: {
        total: expect.any(Number),
        blocks: {
          timeInMesh: expect.any(Number),
          firstMessageDeliveries: 0,
          meshMessageDeliveries: 0,
          invalidMessageDeliveries: 0,
        },
        IPColocationFactor: 0,
        behavioralPenalty: expect.any(Number),
      },
      reqResp: { validResponses: 0, errorResponses: 0, rejectedPayloads: 0 },
    },
  };

  it("self", async () => {
    expect(await call("self")).toEqual({
      ...shape,
      peerID: network.identity.peerId,
      userAgent: "rnode/1",
      addresses: network.identity.addresses,
      protocols: expect.arrayContaining([
        "/meshsub/1.1.0",
        "/ipfs/ping/1.0.0",
        `/opstack/req/payload_by_number/${rollup.l2ChainId}/0`,
      ]),
      connectedness: 0,
      direction: 0,
      chainID: Number(rollup.l2ChainId),
      latency: 0,
      gossipBlocks: true,
    });
  });

  it("connectPeer, then peers, peerStats and peerCount", async () => {
    const address = other.identity.addresses[0];
    expect(await call("connectPeer", address)).toBeNull();
    expect(await call("connectPeer", address)).toBeNull();
    await until(async () => {
      const info = await peer();
      return info?.gossipBlocks === true && info.userAgent !== "";
    });
    expect(await call("peers", true)).toEqual({
      totalConnected: 1,
      peers: {
        [other.identity.peerId]: {
          ...shape,
          peerID: other.identity.peerId,
          userAgent: "rnode/2",
          addresses: expect.arrayContaining([address]),
          protocols: expect.arrayContaining(["/meshsub/1.1.0"]),
          connectedness: 1,
          direction: 2,
          chainID: 0,
          latency: expect.any(Number),
          gossipBlocks: true,
        },
      },
      bannedPeers: [],
      bannedIPS: [],
      bannedSubnets: [],
    });
    expect(await call("peerStats")).toEqual({
      connected: 1,
      table: 0,
      blocksTopic: 1,
      blocksTopicV2: 1,
      blocksTopicV3: 1,
      blocksTopicV4: 1,
      banned: 0,
      known: 1,
    });
    expect(await client.call("opp2p_peerCount", [])).toEqual({ connectedDiscovery: null, connectedGossip: 1 });
    await expect(call("discoveryTable")).rejects.toMatchObject({ code: -32000, message: "discovery disabled" });
  });

  it("protectPeer and unprotectPeer", async () => {
    const { peerId } = other.identity;
    expect([await call("protectPeer", peerId), await call("protectPeer", peerId)]).toEqual([null, null]);
    expect((await peer())?.protected).toBe(true);
    expect([await call("unprotectPeer", peerId), await call("unprotectPeer", peerId)]).toEqual([null, null]);
    expect((await peer())?.protected).toBe(false);
  });

  it("block and unblock addresses and networks", async () => {
    expect([await call("blockAddr", "192.0.2.1"), await call("blockAddr", "::ffff:192.0.2.1")]).toEqual([null, null]);
    expect(await call("listBlockedAddrs")).toEqual(["192.0.2.1"]);
    expect([await call("blockSubnet", "10.1.0.0/8"), await call("blockSubnet", { IP: "10.0.0.0", Mask: "/wAAAA==" })]).toEqual([
      null,
      null,
    ]);
    expect(await call("listBlockedSubnets")).toEqual(["10.0.0.0/8"]);
    expect(await call("peers", true)).toMatchObject({ bannedIPS: ["192.0.2.1"], bannedSubnets: ["10.0.0.0/8"] });
    expect([await call("unblockAddr", "192.0.2.1"), await call("unblockAddr", "192.0.2.1")]).toEqual([null, null]);
    expect([await call("unblockSubnet", "10.0.0.0/8"), await call("unblockSubnet", "10.0.0.0/8")]).toEqual([null, null]);
    expect([await call("listBlockedAddrs"), await call("listBlockedSubnets")]).toEqual([[], []]);
  });

  it("counts connections and bytes", async () => {
    const exposed = async (pattern: RegExp): Promise<boolean> => pattern.test((await metrics.expose()).body);
    await until(() => exposed(/^rnode_default_p2p_peer_count 1$/m));
    await until(() => exposed(/^rnode_default_p2p_bandwidth_bytes_total\{direction="out"\} [1-9]/m));
    expect(await exposed(/^rnode_default_p2p_dials\{allow="true"\} [1-9]/m)).toBe(true);
    expect(await exposed(/^rnode_default_p2p_gossip_events_total\{type="ADD_PEER"\} 1$/m)).toBe(true);
  });

  it("rnode peers lists them", async () => {
    const lines: string[] = [];
    const io = { out: (line: string) => lines.push(line), err: (line: string) => lines.push(line), progress: () => {} };
    expect(await peersCommand([`--rpc=${url}`], {}, io)).toBe(0);
    expect(lines.find((line) => line.startsWith(other.identity.peerId))).toMatch(/127\.0\.0\.1.* out .* rnode\/2 .* yes/);
  });

  it("blockPeer keeps a peer out until unblockPeer; disconnectPeer unblocks it, too", async () => {
    const { peerId, addresses } = other.identity;
    expect([await call("blockPeer", peerId), await call("blockPeer", peerId)]).toEqual([null, null]);
    expect(await call("listBlockedPeers")).toEqual([peerId]);
    expect(await call("peerStats")).toMatchObject({ connected: 1, banned: 1 });
    expect(await call("disconnectPeer", peerId)).toBeNull();
    expect(await call("peers", false)).toMatchObject({ totalConnected: 0, peers: {}, bannedPeers: [] });
    // ids that are well formed, of keys that nobody can have: x coordinates that are not on the curve
    for (const noPoint of [
      "16Uiu2HAmCezMHmQ1H2K5qAzUHwZV7Cy6yL8XG3EbdKF6n5HDEMJE",
      "16Uiu2HAkuRfynyeQUyaKG6D44mPBuzAaiqVCWqAW9GHmv9rSiQ3y",
    ]) {
      for (const method of ["disconnectPeer", "blockPeer", "unblockPeer", "protectPeer", "unprotectPeer"])
        expect([method, await call(method, noPoint)]).toEqual([method, null]);
    }
    await call("blockPeer", peerId);
    await expect(call("connectPeer", addresses[0])).rejects.toMatchObject({
      code: -32000,
      message: expect.stringMatching(/blocked/),
    });
    expect([await call("unblockPeer", peerId), await call("unblockPeer", peerId)]).toEqual([null, null]);
    await call("blockSubnet", "127.0.0.0/8");
    const refused = { code: -32000, message: expect.stringMatching(/^address 127\.0\.0\.1 is blocked: unblock it/) };
    await expect(call("connectPeer", addresses[0])).rejects.toMatchObject(refused);
    await call("unblockSubnet", "127.0.0.0/8");
    expect(await call("connectPeer", addresses[0])).toBeNull();
    expect(await call("listBans")).toEqual([]);
  });
});
