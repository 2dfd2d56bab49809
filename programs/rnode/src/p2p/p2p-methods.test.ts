import { createRpcClient, createRpcServer, type RpcClient } from "@rnode/jsonrpc";
import { silentLogger } from "@rnode/observe";
import type { PeerApi, PeerInfo } from "@rnode/p2p";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { peersCommand } from "../commands/peers-command.ts";
import { p2pMethods } from "./p2p-methods.ts";

const PEER = "16Uiu2HAmKVVub7edwZ3RKDnqMpZVsusYW9TKRgbwpH54nvDWLE4x";
const OTHER = "16Uiu2HAm9Z9nKLLsFJe5jwv4UyaZmzRyPj3AFe1ZTyNzApf4hMkw";
const ADDRESS = `/ip4/192.0.2.1/tcp/9222/p2p/${PEER}`;

const info = (over: Partial<PeerInfo> = {}): PeerInfo => ({
  peerID: PEER,
  nodeID: "ab".repeat(32),
  userAgent: "optimism",
  protocolVersion: "ipfs/0.1.0",
  ENR: "enr:-peer",
  addresses: [ADDRESS],
  protocols: ["/meshsub/1.1.0"],
  connectedness: 1,
  direction: 2,
  protected: true,
  chainID: 10,
  latency: 12_345_678,
  gossipBlocks: true,
  scores: {
    gossip: {
      total: 7.5,
      blocks: { timeInMesh: 1, firstMessageDeliveries: 2, meshMessageDeliveries: 3, invalidMessageDeliveries: 0 },
      IPColocationFactor: 0,
      behavioralPenalty: 0,
    },
    reqResp: { validResponses: 1, errorResponses: 0, rejectedPayloads: 0 },
  },
  ...over,
});
const self = info({ peerID: OTHER, ENR: "enr:-self", addresses: ["/ip4/192.0.2.9/tcp/9222"], connectedness: 0, direction: 0 });
const dump = {
  totalConnected: 1,
  peers: { [PEER]: info() },
  bannedPeers: [OTHER],
  bannedIPS: ["192.0.2.7"],
  bannedSubnets: ["10.0.0.0/8"],
};
const stats = { connected: 1, table: 3, blocksTopic: 1, blocksTopicV2: 1, blocksTopicV3: 1, blocksTopicV4: 1, banned: 1, known: 9 };
const equivocation = {
  number: 7,
  blocks: ["0x01", "0x02"].map((hash) => ({ hash, from: OTHER, signature: "0x03", payloadHash: "0x04", message: null })),
};
const ban = { banned: OTHER, expiry: 1_800_000_000, secondsLeft: 3599, reason: "score -112 is below -100: invalid blocks 1" };

describe("the methods of the network", () => {
  const asked: unknown[] = [];
  let isDiscovering = true;
  const note =
    (name: string) =>
    async (argument: string): Promise<void> => {
      asked.push([name, argument]);
    };
  const api: PeerApi = {
    self: async () => self,
    peers: async (onlyConnected) => {
      asked.push(["peers", onlyConnected]);
      return dump;
    },
    peerStats: async () => stats,
    discoveryTable: async () => (isDiscovering ? ["enr:-one", "enr:-two", "enr:-three"] : undefined),
    blockPeer: note("blockPeer"),
    unblockPeer: note("unblockPeer"),
    listBlockedPeers: async () => [OTHER],
    blockAddr: note("blockAddr"),
    unblockAddr: note("unblockAddr"),
    listBlockedAddrs: async () => ["192.0.2.7"],
    blockSubnet: note("blockSubnet"),
    unblockSubnet: note("unblockSubnet"),
    listBlockedSubnets: async () => [],
    protectPeer: note("protectPeer"),
    unprotectPeer: note("unprotectPeer"),
    connectPeer: async () => {
      throw new Error(`peer ${PEER} cannot be reached: nobody there`);
    },
    disconnectPeer: note("disconnectPeer"),
    listBans: async () => [ban],
    listEquivocations: async () => [equivocation],
  };
  const server = createRpcServer({
    http: { host: "127.0.0.1", port: 0 },
    methods: p2pMethods(api),
    log: silentLogger,
  });
  let client: RpcClient;
  let url: string;
  beforeAll(async () => {
    const { httpPort } = await server.listen();
    url = `http://127.0.0.1:${httpPort}`;
    client = createRpcClient({ url });
  });
  afterAll(async () => {
    await client.close();
    await server.close();
  });
  const call = (name: string, ...params: unknown[]) => client.call(name, params);

  it.each(["rnodep2p", "opp2p"])("%s_* answer what is asked", async (namespace) => {
    expect(await call(`${namespace}_self`)).toEqual(self);
    expect(await call(`${namespace}_peers`, true)).toEqual(dump);
    expect(asked.splice(0)).toEqual([["peers", true]]);
    expect(await call(`${namespace}_peerStats`)).toEqual(stats);
    expect(await call(`${namespace}_discoveryTable`)).toEqual(["enr:-one", "enr:-two", "enr:-three"]);
    expect(await call(`${namespace}_listBlockedPeers`)).toEqual([OTHER]);
    expect(await call(`${namespace}_listBlockedAddrs`)).toEqual(["192.0.2.7"]);
    expect(await call(`${namespace}_listBlockedSubnets`)).toEqual([]);
    expect(await call(`${namespace}_listBans`)).toEqual([ban]);
    expect(await call(`${namespace}_listEquivocations`)).toEqual([equivocation]);
    expect(await call(`${namespace}_peerCount`)).toEqual({ connectedDiscovery: 3, connectedGossip: 1 });
  });

  it.each([
    ["blockPeer", PEER, PEER],
    ["unblockPeer", PEER, PEER],
    ["protectPeer", PEER, PEER],
    ["unprotectPeer", "bafzaajiiaijcca3fsnv2hkv6ownum2q6xikfdo7akm7ah7glr7gghkzhj3bvnuqbye", PEER],
    ["disconnectPeer", PEER, PEER],
    ["blockAddr", "192.0.2.1", "192.0.2.1"],
    ["blockAddr", "::ffff:192.0.2.1", "192.0.2.1"],
    ["unblockAddr", "2001:DB8::1", "2001:db8::1"],
    ["blockSubnet", "10.1.2.3/8", "10.0.0.0/8"],
    ["unblockSubnet", { IP: "192.0.2.0", Mask: "////AA==" }, "192.0.2.0/24"],
  ])("%s(%j) answers null, again too", async (name, argument, canonical) => {
    for (const namespace of ["rnodep2p", "opp2p"]) {
      asked.length = 0;
      expect(await call(`${namespace}_${name}`, argument)).toBeNull();
      expect(await call(`${namespace}_${name}`, argument)).toBeNull();
      expect(asked).toEqual([
        [name, canonical],
        [name, canonical],
      ]);
    }
  });

  it.each([
    ["blockPeer", ["nobody"], /peer id/],
    ["blockPeer", [7], /peer id/],
    ["blockPeer", [], /missing/],
    ["protectPeer", ["0x1234"], /peer id/],
    ["disconnectPeer", [ADDRESS], /peer id/],
    ["blockAddr", ["192.0.2.256"], /IP address/],
    ["blockAddr", ["example.org"], /IP address/],
    ["unblockAddr", ["10.0.0.0/8"], /IP address/],
    ["blockSubnet", ["10.0.0.0"], /CIDR/],
    ["blockSubnet", ["10.0.0.0/40"], /CIDR/],
    ["blockSubnet", [{ IP: "10.0.0.0", Mask: "/wD/AA==" }], /CIDR/],
    ["blockSubnet", [{}], /CIDR/],
    ["connectPeer", ["/ip4/192.0.2.1/tcp/9222"], /\/ip4\/192\.0\.2\.1\/tcp\/9222\/p2p\//],
    ["connectPeer", ["enode://abc"], /multiaddress/],
    ["peers", ["yes"], /boolean/],
    ["peers", [], /missing/],
    ["self", [1], /too many/],
  ])("%s(%j) is refused with -32602", async (name, params, message) => {
    asked.length = 0;
    await expect(client.call(`rnodep2p_${name}`, params)).rejects.toMatchObject({
      code: -32602,
      message: expect.stringMatching(message),
    });
    expect(asked).toEqual([]);
  });

  it("what could not be done is -32000 with the reason", async () => {
    await expect(call("rnodep2p_connectPeer", ADDRESS)).rejects.toMatchObject({
      code: -32000,
      message: `peer ${PEER} cannot be reached: nobody there`,
    });
    await expect(call("rnodep2p_blockPeer", "")).rejects.toMatchObject({ code: -32000, message: "invalid request" });
    isDiscovering = false;
    await expect(call("rnodep2p_discoveryTable")).rejects.toMatchObject({ code: -32000, message: "discovery disabled" });
    expect(await call("opp2p_peerCount")).toEqual({ connectedDiscovery: null, connectedGossip: 1 });
    isDiscovering = true;
  });

  describe("rnode peers", () => {
    const run = async (...args: string[]) => {
      const lines: string[] = [];
      const code = await peersCommand(
        args,
        {},
        { out: (line) => lines.push(line), err: (line) => lines.push(line), progress: () => {} },
      );
      return { code, lines };
    };

    it("prints a table of peers, bans with their reasons, and what is blocked", async () => {
      const { code, lines } = await run(`--rpc=${url}`);
      expect(code).toBe(0);
      expect(lines).toEqual([
        `this node  ${OTHER}`,
        "           /ip4/192.0.2.9/tcp/9222",
        "           enr:-self",
        "1 connected, 9 known, 3 in the discovery table",
        "",
        "PEER                                                   ADDRESS                  DIRECTION  AGENT     LATENCY  SCORE  GOSSIP  PROTECTED",
        `${PEER}  /ip4/192.0.2.1/tcp/9222  out        optimism  12.3 ms  7.50   yes     yes`,
        "",
        "BANNED                                                 FOR     BECAUSE",
        `${OTHER}  59m59s  score -112 is below -100: invalid blocks 1`,
        "",
        "BLOCKED",
        OTHER,
        "192.0.2.7",
        "10.0.0.0/8",
      ]);
      expect(asked.splice(0)).toContainEqual(["peers", true]);
    });

    it("prints JSON, and known peers when asked", async () => {
      const { lines } = await run(`--rpc=${url}`, "--json", "--all");
      expect(JSON.parse(lines.join("\n"))).toEqual({ self, stats, dump, bans: [ban] });
      expect(asked.splice(0)).toContainEqual(["peers", false]);
    });

    it("lets nothing that a peer wrote steer the terminal", async () => {
      dump.peers[PEER] = info({ userAgent: "\u001b[2J\nevil" });
      const { lines } = await run(`--rpc=${url}`);
      dump.peers[PEER] = info();
      expect(lines.join("\n")).toContain("?[2J?evil");
    });

    it("says what is wrong when there is nothing to ask", async () => {
      await expect(run("--rpc=http://127.0.0.1:1")).rejects.toThrow(/no node answers at http:\/\/127\.0\.0\.1:1.*--rpc/);
      const bare = createRpcServer({ http: { host: "127.0.0.1", port: 0 }, methods: {}, log: silentLogger });
      const { httpPort } = await bare.listen();
      await expect(run(`--rpc=http://127.0.0.1:${httpPort}`)).rejects.toThrow(/--p2p\.disable/);
      await bare.close();
    });
  });
});
