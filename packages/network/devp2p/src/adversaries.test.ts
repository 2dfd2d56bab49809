import { type ECDH, randomBytes } from "node:crypto";
import { connect, type Socket } from "node:net";
import { createMetrics } from "@rnode/observe";
import { encodeRlp, type RlpItem, rlpUint } from "@rnode/primitives";
import { until } from "@rnode/program/testing";
import { afterEach, describe, expect, it } from "vitest";
import { parseEnode } from "./enode.ts";
import { ETH, encodeHashRequest, encodeHeaderRequest, encodeStatus } from "./eth/messages.ts";
import { RlpxConnection } from "./rlpx/connection.ts";
import { newKeyPair, publicKeyOf } from "./rlpx/ecies.ts";
import { HostileEthPeer } from "./testing/hostile-eth-peer.ts";
import { startTestNode, type TestNode, type TestNodeOptions } from "./testing/test-node.ts";

// Malicious peers. Limits are checked by counts that do not depend on the machine's speed.

const nodes: TestNode[] = [];
const sockets: Socket[] = [];
async function start(options: Partial<TestNodeOptions> = {}): Promise<TestNode> {
  const node = await startTestNode({ key: 1, plainDataBytes: 1_000, blocks: 30, ...options });
  nodes.push(node);
  return node;
}
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await Promise.all(nodes.splice(0).map((node) => node.close()));
});

async function dial(node: TestNode, localAddress?: string): Promise<Socket> {
  const socket = connect({ port: node.network.identity.tcpPort, host: "127.0.0.1", localAddress });
  sockets.push(socket);
  socket.on("error", () => {});
  await new Promise((resolve) => socket.once("connect", resolve));
  return socket;
}

/** A connection whose statuses have been exchanged. */
async function join(node: TestNode, own = newKeyPair()): Promise<{ readonly connection: RlpxConnection; readonly socket: Socket }> {
  const socket = await dial(node);
  const { connection } = await HostileEthPeer.open(socket, node.network.identity.enode, own);
  await until("joined", () => node.network.list().length > 0);
  return { connection, socket };
}

/** Whether the node still talks to this key after both have introduced themselves. */
async function isHeard(node: TestNode, own: ECDH): Promise<boolean> {
  const socket = await dial(node);
  const { publicKey: remoteKey } = parseEnode(node.network.identity.enode);
  const capabilities = [{ name: "eth", version: 69 }];
  const connection = await RlpxConnection.open(socket, { own, clientId: "evil", capabilities, port: 0, remoteKey });
  const said = connection.next(() => 1 << 20);
  return await said.then(
    ({ code }) => code === ETH.status,
    () => false,
  );
}

const closed = (socket: Socket): Promise<void> =>
  new Promise((resolve) => (socket.destroyed ? resolve() : socket.once("close", () => resolve())));
/** Reads all input; otherwise the end of the connection is not detected. */
const listen = (connection: RlpxConnection): void => void connection.next(() => 1 << 24).catch(() => {});
const megabytes = (): number => {
  globalThis.gc?.();
  return process.memoryUsage().rss / 2 ** 20;
};

describe("malformed messages", () => {
  const list = (...items: RlpItem[]): Uint8Array => encodeRlp(items);
  const hash = new Uint8Array(32);
  it.each([
    ["no RLP", ETH.getBlockHeaders, new Uint8Array(randomBytes(50))],
    ["an empty message", ETH.getBlockBodies, new Uint8Array(0)],
    ["an empty list", ETH.getBlockHeaders, list()],
    ["hashes of 31 bytes", ETH.getBlockBodies, list(rlpUint(1), [new Uint8Array(31)])],
    ["a number of 9 bytes", ETH.getReceipts, list(new Uint8Array(9).fill(1), [hash])],
    [
      "more hashes than anybody may ask for",
      ETH.getBlockBodies,
      encodeHashRequest(
        1,
        Array.from({ length: 2_049 }, () => hash),
      ),
    ],
    ["announcements of unequal lengths", ETH.newPooledTransactionHashes, list(Uint8Array.of(2, 2), [rlpUint(5)], [hash, hash])],
    [
      "a million items",
      ETH.newPooledTransactionHashes,
      list(
        new Uint8Array(3),
        Array.from({ length: 900_000 }, () => Uint8Array.of(1)),
        [],
      ),
    ],
    ["a deposit", ETH.transactions, list(Uint8Array.of(0x7e, 0xc0))],
    ["a post-exec transaction", ETH.transactions, list(Uint8Array.of(0x7d, 0xc3, 1, 1, 0xc0))],
    ["a block range that ends before it begins", ETH.blockRangeUpdate, list(rlpUint(9), rlpUint(3), hash)],
    ["a message that eth does not have", ETH.status + 0x0d, list()],
    ["a second status", ETH.status, list()],
  ])("%s ends the connection, and bans the peer for a while", async (_, code, data) => {
    const node = await start({ blocks: 1 });
    const own = newKeyPair();
    const { connection, socket } = await join(node, own);
    connection.send(code, data);
    listen(connection);
    await closed(socket);
    await until("the peer is gone", () => node.network.list().length === 0);
    expect(await isHeard(node, own)).toBe(false);
  });

  it("the ban holds over a restart, for this key and not for its neighbour, until the operator lifts it", async () => {
    const node = await start({ blocks: 1 });
    const own = newKeyPair();
    const { connection, socket } = await join(node, own);
    connection.send(ETH.getBlockHeaders, list());
    listen(connection);
    await closed(socket);
    await until("the peer is gone", () => node.network.list().length === 0);
    await node.restart();
    expect(await isHeard(node, own)).toBe(false);
    expect(await isHeard(node, newKeyPair())).toBe(true);
    const id = Buffer.from(publicKeyOf(own)).toString("hex");
    await node.network.admin.addPeer(`enode://${id}@127.0.0.1:1`);
    expect(await isHeard(node, own)).toBe(true);
  });

  it("a message larger than what nobody asked for is not received", async () => {
    const node = await start({ blocks: 1 });
    const { connection, socket } = await join(node);
    listen(connection);
    connection.send(ETH.transactions, list(new Uint8Array(randomBytes(3 * 2 ** 20))));
    await closed(socket);
  });

  it("what inflates a thousandfold is not inflated", async () => {
    const node = await start({ blocks: 1 });
    const { connection, socket } = await join(node);
    listen(connection);
    const before = megabytes();
    for (let i = 0; i < 4; i++) connection.send(ETH.transactions, new Uint8Array(15 * 2 ** 20));
    await closed(socket);
    expect(megabytes() - before).toBeLessThan(150); // 60 of which are ours
  });
});

describe("a peer that takes nothing", () => {
  it("is asked nothing more of the database until it has taken its answer", async () => {
    const node = await start({ blocks: 60, plainDataBytes: 15_000 });
    const { connection, socket } = await join(node);
    socket.pause();
    const before = megabytes();
    const hashes = node.blocks.slice(1).map(({ commit }) => commit.hash);
    for (let id = 1; id <= 300; id++) connection.send(ETH.getBlockBodies, encodeHashRequest(id, hashes)); // 600 MiB of answers
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    expect(megabytes() - before).toBeLessThan(100);
  });
});

describe("floods", () => {
  it("of requests of one peer do not keep another from its answers", async () => {
    const node = await start();
    const { connection } = await join(node);
    void (async () => {
      for (;;) await connection.next(() => 1 << 24);
    })().catch(() => {});
    for (let id = 1; id <= 3_000; id++) connection.send(ETH.getBlockHeaders, encodeHeaderRequest(id, { start: 1, limit: 30 }));
    const honest = await startTestNode({ key: 2, plainDataBytes: 1_000, blocks: 30 });
    nodes.push(honest);
    await honest.network.admin.addPeer(node.network.identity.enode);
    await until("connected", () => honest.network.list().length === 1);
    expect(await honest.network.list()[0]!.headers({ start: 1, limit: 30 }, new AbortController().signal)).toHaveLength(30);
  });

  it("of connections from one address are refused beyond a few", async () => {
    const metrics = createMetrics({ prefix: "test", ofProcess: false });
    const node = await start({ blocks: 1, metrics });
    const many = await Promise.all(Array.from({ length: 60 }, () => dial(node)));
    const refusals = async (): Promise<number> =>
      Number(/devp2p_inbound_total\{outcome="refused"[^}]*\} (\d+)/.exec((await metrics.expose()).body)?.[1] ?? 0);
    await until("most are refused", async () => (await refusals()) >= 45);
    await until("these are closed", () => many.filter(({ destroyed }) => destroyed).length >= 45);
    expect(node.network.list()).toEqual([]);
  });

  it.skipIf(process.platform !== "linux")(
    "of silent connections from ever other addresses keeps nobody out",
    { tags: "long" },
    async () => {
      const node = await start({ blocks: 1 });
      for (let i = 0; i < 40; i++) await Promise.all(Array.from({ length: 15 }, (_, j) => dial(node, `127.1.${i}.${j + 1}`)));
      await join(node);
      expect(node.network.list()).toHaveLength(1);
    },
  );

  it("a stranger's status of another chain does not make it a peer", async () => {
    const node = await start({ blocks: 1 });
    const socket = await dial(node);
    const { publicKey: remoteKey } = parseEnode(node.network.identity.enode);
    const capabilities = [{ name: "eth", version: 69 }];
    const connection = await RlpxConnection.open(socket, {
      own: newKeyPair(),
      clientId: "other",
      capabilities,
      port: 0,
      remoteKey,
    });
    const forkId = { hash: new Uint8Array(4), next: 0 };
    const range = { earliest: 0, latest: 1, latestHash: new Uint8Array(32) };
    const status = { version: 69, networkId: 1n, genesisHash: new Uint8Array(32), forkId, latestHash: new Uint8Array(32), range };
    listen(connection);
    connection.send(ETH.status, encodeStatus(status));
    await closed(socket);
    expect(node.network.list()).toEqual([]);
  });
});
