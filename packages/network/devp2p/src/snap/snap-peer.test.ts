import { connect, type Socket } from "node:net";
import { encodeRlp, rlpUint } from "@rnode/primitives";
import { until } from "@rnode/program/testing";
import { encodeAccount, verifyRange } from "@rnode/trie";
import { afterEach, describe, expect, it } from "vitest";
import { ETH, ETH_MESSAGES, type EthVersion } from "../eth/messages.ts";
import type { RlpxConnection } from "../rlpx/connection.ts";
import { newKeyPair } from "../rlpx/ecies.ts";
import type { Capability } from "../rlpx/hello.ts";
import { HostileEthPeer } from "../testing/hostile-eth-peer.ts";
import { startTestNode, type TestNode } from "../testing/test-node.ts";
import { decodeAccountRange, encodeAccountRangeRequest, encodeTrieNodesRequest, idOf, SNAP } from "./messages.ts";
import { decodeSlimAccount } from "./slim-account.ts";

const nodes: TestNode[] = [];
const sockets: Socket[] = [];
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await Promise.all(nodes.splice(0).map((node) => node.close()));
});

const SNAP_1 = { name: "snap", version: 1 };
const FIRST = new Uint8Array(32);
const LAST = new Uint8Array(32).fill(0xff);

async function join(capabilities: readonly Capability[]): Promise<{ node: TestNode; connection: RlpxConnection; socket: Socket }> {
  const node = await startTestNode({ key: 1, blocks: 20 });
  nodes.push(node);
  const socket = connect({ port: node.network.identity.tcpPort, host: "127.0.0.1" });
  sockets.push(socket);
  socket.on("error", () => {});
  await new Promise((resolve) => socket.once("connect", resolve));
  const { connection } = await HostileEthPeer.open(socket, node.network.identity.enode, newKeyPair(), capabilities);
  await until("joined", () => node.network.list().length > 0);
  return { node, connection, socket };
}

const firstOf = (version: EthVersion): number => ETH.status + ETH_MESSAGES[version];

describe("a peer that speaks snap/1 beside eth", () => {
  it.each<EthVersion>([68, 69])("has its requests answered behind the messages of eth/%i", async (version) => {
    const { node, connection } = await join([{ name: "eth", version }, SNAP_1]);
    expect(connection.hello.capabilities).toEqual([{ name: "eth", version: 68 }, { name: "eth", version: 69 }, SNAP_1]);
    const root = node.blocks.at(-1)!.commit.block.header.stateRoot;
    const request = { root, origin: FIRST, limit: LAST, bytes: 1 << 20 };
    connection.send(firstOf(version) + SNAP.getAccountRange, encodeAccountRangeRequest(77, request));
    const { code, data } = await connection.next(() => 1 << 24);
    expect(code).toBe(firstOf(version) + SNAP.accountRange);
    expect(idOf(data)).toBe(77n);
    const { accounts, proof } = decodeAccountRange(data);
    const entries = accounts.map(({ hash, body }) => ({ key: hash, value: encodeAccount(decodeSlimAccount(body)) }));
    expect(entries.length).toBeGreaterThan(3);
    expect(verifyRange(root, { origin: FIRST, entries, proof })).toMatchObject({ hasMore: false });
  });

  it.each<[string, number, Uint8Array]>([
    ["an empty set of paths", SNAP.getTrieNodes, encodeRlp([rlpUint(1), FIRST, [[]], rlpUint(9)])],
    ["no RLP", SNAP.getByteCodes, Uint8Array.of(1, 2, 3)],
    ["a message that snap/1 does not have", 8, encodeRlp([])],
  ])("is disconnected for %s", async (_, code, data) => {
    const { node, connection } = await join([{ name: "eth", version: 69 }, SNAP_1]);
    connection.send(firstOf(69) + code, data);
    await until("the peer is gone", () => node.network.list().length === 0);
  });

  it("has no such messages if it did not offer snap/1", async () => {
    const { node, connection } = await join([
      { name: "eth", version: 69 },
      { name: "snap", version: 2 },
    ]);
    const request = { root: FIRST, origin: FIRST, limit: LAST, bytes: 1 };
    connection.send(firstOf(69) + SNAP.getAccountRange, encodeAccountRangeRequest(1, request));
    await until("the peer is gone", () => node.network.list().length === 0);
  });

  it("does not keep another peer from its blocks by a flood of requests", async () => {
    const { node, connection } = await join([{ name: "eth", version: 69 }, SNAP_1]);
    void (async () => {
      for (;;) await connection.next(() => 1 << 24);
    })().catch(() => {});
    const root = node.blocks.at(-1)!.commit.block.header.stateRoot;
    const paths = Array.from({ length: 1_000 }, (_, i) => [Uint8Array.of(0x10 | (i % 16))]);
    for (let id = 1; id <= 2_000; id++) {
      connection.send(firstOf(69) + SNAP.getTrieNodes, encodeTrieNodesRequest(id, { root, paths, bytes: 1 << 21 }));
    }
    const honest = await startTestNode({ key: 2, blocks: 20 });
    nodes.push(honest);
    await honest.network.admin.addPeer(node.network.identity.enode);
    await until("connected", () => honest.network.list().length === 1);
    expect(await honest.network.list()[0]!.headers({ start: 1, limit: 20 }, new AbortController().signal)).toHaveLength(20);
    expect(node.network.list()).toHaveLength(2); // it is slowed down, and not disconnected
  });
});
