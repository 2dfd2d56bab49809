import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { bytesToHex, type Hex, keccak256 } from "@rnode/primitives";
import { until } from "@rnode/program/testing";
import { describe, expect, it } from "vitest";
import { clientsOfTest, signTransfer } from "../testing/clients-of-test.ts";
import type { TestClient } from "../testing/test-client.ts";

// Two clients on the network of execution clients, as operators and users see it.

const { start } = clientsOfTest();
const ON = [
  "--max-peers=5",
  "--addr=127.0.0.1",
  "--port=0",
  "--nat=none",
  "--disable-discovery",
  "--http.api=eth,net,admin,txpool",
];

interface NodeInfo {
  readonly id: string;
  readonly enode: string;
  readonly ports: { readonly listener: number };
}
interface PeerInfo {
  readonly id: string;
  readonly enode: string;
  readonly network: { readonly inbound: boolean; readonly static: boolean };
  readonly protocols: { readonly eth: { readonly version: number } };
}

const infoOf = (node: TestClient): Promise<NodeInfo> => node.rpc.call<NodeInfo>("admin_nodeInfo", []);

async function connected(first: readonly string[] = [], second: readonly string[] = []): Promise<[TestClient, TestClient]> {
  const a = await start([...ON, ...first]);
  const b = await start([...ON, ...second]);
  const { enode } = await infoOf(a);
  expect(await b.rpc.call("admin_addPeer", [enode])).toBe(true);
  await until(
    "connected",
    async () => (await a.rpc.call("net_peerCount", [])) === "0x1" && (await b.rpc.call("net_peerCount", [])) === "0x1",
  );
  return [a, b];
}

const send = async (node: TestClient, nonce: number): Promise<Hex> =>
  node.rpc.call<Hex>("eth_sendRawTransaction", [await signTransfer(nonce)]);

describe("two clients", () => {
  it("connect, and tell the truth about it", async () => {
    const [a, b] = await connected();
    const [infoA, infoB] = [await infoOf(a), await infoOf(b)];
    expect(infoA.enode).toMatch(/^enode:\/\/[0-9a-f]{128}@127\.0\.0\.1:\d+/);
    expect(await a.rpc.call("net_listening", [])).toBe(true);
    const [peerOfA] = await a.rpc.call<PeerInfo[]>("admin_peers", []);
    const [peerOfB] = await b.rpc.call<PeerInfo[]>("admin_peers", []);
    expect(peerOfA).toMatchObject({ id: infoB.id, network: { inbound: true, static: false }, protocols: { eth: { version: 69 } } });
    expect(peerOfB).toMatchObject({ id: infoA.id, network: { inbound: false, static: true } });
    await expect(b.rpc.call("admin_addPeer", ["enode://00@1.2.3.4:1"])).rejects.toMatchObject({ code: -32602 });
    expect(await b.rpc.call("admin_removePeer", [infoA.enode])).toBe(true);
    await until("disconnected", async () => (await a.rpc.call("net_peerCount", [])) === "0x0");
  });

  it("have ids in the form of their face", async () => {
    const node = await start([...ON, "--profile=G"]);
    const { id, enode } = await infoOf(node);
    expect(id).toBe(bytesToHex(keccak256(Buffer.from(enode.slice(8, 136), "hex"))).slice(2));
  });

  it("share pending transactions, both ways", async () => {
    const [a, b] = await connected();
    const hash = await send(a, 0);
    await until("b has it", async () => (await b.rpc.call("eth_getTransactionByHash", [hash])) !== null);
    const next = await send(b, 1);
    await until("a has it", async () => (await a.rpc.call("eth_getTransactionByHash", [next])) !== null);
  });

  it("share none with --rollup.disable-tx-pool-gossip", async () => {
    const [a, b] = await connected([], ["--rollup.disable-tx-pool-gossip"]);
    const [hash, other] = [await send(a, 0), await send(b, 1)];
    await new Promise((resolve) => setTimeout(resolve, 600));
    expect(await b.rpc.call("eth_getTransactionByHash", [hash])).toBeNull();
    expect(await a.rpc.call("eth_getTransactionByHash", [other])).toBeNull();
  });

  it("keep their key, which only the owner can read", async () => {
    const node = await start(ON);
    const path = join(node.folder, "data", "nodekey");
    expect(existsSync(path)).toBe(true);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    const again = await start([...ON, `--nodekey=${path}`]);
    expect((await infoOf(again)).id).toBe((await infoOf(node)).id);
    expect(readFileSync(path, "utf8")).toMatch(/^[0-9a-f]{64}$/);
  });

  it("are found by their boot node, at the address that they are told, and trust whom they are told to", {
    tags: "long",
  }, async () => {
    const found = ["--max-peers=5", "--addr=127.0.0.1", "--port=0", "--http.api=admin,net", "--nat=none"];
    const boot = await start([...found, "--discovery.port=0"]);
    const { enode } = await infoOf(boot);
    const other = await start([...found, `--bootnodes=${enode}`]);
    await until("found", async () => (await other.rpc.call("net_peerCount", [])) !== "0x0");
    const trusting = await start([...ON, `--trusted-peers=${enode}`]);
    await until("trusted", async () => {
      const peers = await trusting.rpc.call<(PeerInfo & { readonly network: { readonly trusted: boolean } })[]>("admin_peers", []);
      return peers.some(({ network }) => network.trusted);
    });
    const told = await start([...ON, "--nat=extip:192.0.2.7"]);
    expect((await infoOf(told)).enode).toContain("@192.0.2.7:");
  });
});
