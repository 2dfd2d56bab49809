import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ENR } from "@chainsafe/enr";
import { bytesToHex, decodeRlp, encodeRlp, equalBytes, keccak256, type RlpItem, rlpUint } from "@rnode/primitives";
import { until } from "@rnode/program/testing";
import {
  encodeBlock,
  encodeHeader,
  encodeTransaction,
  hashTransaction,
  type SignedTransaction,
  signTransaction,
} from "@rnode/protocol";
import { afterEach, describe, expect, it } from "vitest";
import { enodeOfRecord, forkIdOf } from "./discovery/node-record.ts";
import { startTestNode, TEST_CHAIN, type TestNode, type TestNodeOptions } from "./testing/test-node.ts";

const nodes: TestNode[] = [];
async function start(options: TestNodeOptions): Promise<TestNode> {
  const node = await startTestNode(options);
  nodes.push(node);
  return node;
}
afterEach(async () => {
  await Promise.all(nodes.splice(0).map((node) => node.close()));
});

/** The second dials the first. */
async function connected(
  first: Partial<TestNodeOptions> = {},
  second: Partial<TestNodeOptions> = {},
): Promise<[TestNode, TestNode]> {
  const a = await start({ key: 1, ...first });
  const b = await start({ key: 2, ...second });
  await b.network.admin.addPeer(a.network.identity.enode);
  await until("connected", () => a.network.list().length + b.network.list().length === 2);
  return [a, b];
}

const never = new AbortController().signal;

describe("the network", () => {
  it("serves headers, bodies and receipts as they are in the database", async () => {
    const [a, b] = await connected({ blocks: 40 });
    const [peer] = b.network.list();
    const headers = await peer!.headers({ start: 3, limit: 5, skip: 1 }, never);
    expect(headers).toEqual([3, 5, 7, 9, 11].map((number) => encodeHeader(a.blocks[number]!.commit.block.header)));
    const { hash } = a.blocks[10]!.commit;
    const backwards = await peer!.headers({ start: hash, limit: 3, reverse: true }, never);
    expect(backwards.map((header) => bytesToHex(keccak256(header)))).toEqual(
      [10, 9, 8].map((number) => bytesToHex(a.blocks[number]!.commit.hash)),
    );
    expect(await peer!.headers({ start: 39, limit: 10 }, never)).toHaveLength(2);
    expect(await peer!.headers({ start: new Uint8Array(32).fill(9), limit: 1 }, never)).toEqual([]);

    const asked = a.blocks.slice(1, 30).map(({ commit }) => commit);
    const bodies = await peer!.bodies(
      asked.map((commit) => commit.hash),
      never,
    );
    expect(bodies).toHaveLength(29);
    expect(bodies).toEqual(asked.map(({ block }) => encodeRlp((decodeRlp(encodeBlock(block)) as readonly RlpItem[]).slice(1))));
    const receipts = await peer!.receipts(
      asked.map((commit) => commit.hash),
      never,
    );
    expect(receipts).toHaveLength(29);
    const told = receipts.map((list) => (decodeRlp(list) as readonly (readonly RlpItem[])[]).map(([type, , gas]) => [type, gas]));
    expect(told).toEqual(
      asked.map((commit) => commit.receipts.map(({ type, cumulativeGasUsed }) => [rlpUint(type), rlpUint(cumulativeGasUsed)])),
    );
    expect(asked.some(({ receipts: some }) => some.length > 0)).toBe(true);
  });

  it("has a record of itself, with and without discovery", async () => {
    const { identity } = (await start({ key: 1 })).network;
    const record = ENR.decodeTxt(identity.enr!);
    expect(enodeOfRecord(record)).toMatchObject({ id: identity.publicKey, host: "127.0.0.1", tcpPort: identity.tcpPort });
    expect(forkIdOf(record)?.hash).toHaveLength(4);
    expect(record.kvs.get("snap")).toEqual([]); // it serves states
  });

  it("stops an answer at a block that is not there", async () => {
    const [a, b] = await connected();
    const [peer] = b.network.list();
    const { hash } = a.blocks[3]!.commit;
    expect(await peer!.bodies([hash, new Uint8Array(32).fill(1), hash], never)).toHaveLength(1);
    expect(await peer!.receipts([new Uint8Array(32).fill(1)], never)).toEqual([]);
  });

  it("tells the head, and follows it", async () => {
    const [a, b] = await connected();
    const [peer] = b.network.list();
    expect(peer!.head).toEqual({ number: 4, hash: a.blocks.at(-1)!.commit.hash });
    expect(peer!.id).toBe(a.network.identity.publicKey);
  });

  it("gives up a request with its signal, and when the peer is gone", async () => {
    const [a, b] = await connected();
    const [peer] = b.network.list();
    const signal = AbortSignal.abort();
    await expect(peer!.headers({ start: 1, limit: 1 }, signal)).rejects.toMatchObject({ code: "devp2p/request-aborted" });
    const asked = peer!.headers({ start: 1, limit: 1024 }, never).catch((error: unknown) => error);
    await a.network.close();
    await until("gone", () => b.network.list().length === 0);
    await asked;
    await expect(peer!.headers({ start: 1, limit: 1 }, never)).rejects.toMatchObject({ code: "devp2p/peer-gone" });
  });

  it("takes nobody of another chain, network or fork", async () => {
    const a = await start({ key: 1 });
    const strangers = [
      { seed: 2 },
      { networkId: 1 },
      { chain: { ...TEST_CHAIN, forkBlocks: { ...TEST_CHAIN.forkBlocks, berlin: 2 } } },
    ];
    for (const [index, changes] of strangers.entries()) {
      const stranger = await start({ key: 10 + index, ...changes });
      await stranger.network.admin.addPeer(a.network.identity.enode);
    }
    const friend = await start({ key: 3 });
    await friend.network.admin.addPeer(a.network.identity.enode);
    await until("the friend is connected", () => friend.network.list().length === 1);
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(a.network.list().map(({ id }) => id)).toEqual([friend.network.identity.publicKey]);
  });

  it("keeps its identity, and a ban, over a restart", async () => {
    const [a, b] = await connected();
    const { publicKey } = a.network.identity;
    b.network.list()[0]!.report("lied", "a header that is not there");
    await until("disconnected", () => b.network.list().length === 0);
    await b.restart();
    const { enode } = await a.restart().then(({ identity }) => identity);
    expect(a.network.identity.publicKey).toBe(publicKey);
    await a.network.admin.addPeer(b.network.identity.enode);
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(b.network.list()).toEqual([]);
    await b.network.admin.addPeer(enode); // the operator's choice overrides the ban
    await until("connected again", () => b.network.list().length === 1);
  });

  it("remembers whom it dialled, and begins with them at the next start, unless it was told not to search", async () => {
    const a = await start({ key: 1, discovery: { enabled: true, bootnodes: [] } });
    const [b, c, d] = [await start({ key: 2 }), await start({ key: 3 }), await start({ key: 4 })];
    for (const other of [b, c]) await a.network.admin.addPeer(other.network.identity.enode);
    await d.network.admin.addPeer(a.network.identity.enode); // inbound peers are not stored
    await until("three peers", () => a.network.list().length === 3);
    await a.network.admin.removePeer(c.network.identity.enode); // nor are peers that the operator removed
    await until("two peers", () => a.network.list().length === 2);
    await d.close();
    const here = [b.network.identity.publicKey];
    const idsOf = (node: TestNode): readonly string[] => node.network.list().map(({ id }) => id);
    await a.restart();
    await until("the one that it remembers", () => idsOf(a).length > 0);
    expect(idsOf(a)).toEqual(here);
    expect((await a.network.admin.peers())[0]).toMatchObject({ isInbound: false, isStatic: false });
    a.network.list()[0]!.report("lied", "a header that is not there");
    await until("banned", () => idsOf(a).length === 0);
    await a.network.close();
    expect(readFileSync(join(a.folder, "peers", "known"), "utf8")).toBe("");
  });

  it("dials nobody whom it remembers with discovery off", async () => {
    const a = await start({ key: 1, discovery: { enabled: true, bootnodes: [] } });
    const b = await start({ key: 2 });
    await a.network.admin.addPeer(b.network.identity.enode);
    await until("connected", () => a.network.list().length === 1);
    await a.restart({ discovery: { enabled: false, bootnodes: [] } });
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(a.network.list()).toEqual([]);
    expect(readFileSync(join(a.folder, "peers", "known"), "utf8")).toContain(b.network.identity.publicKey);
  });

  it("connects with no more than it wants, and with trusted peers beyond", async () => {
    const a = await start({ key: 1, maxPeers: 2 });
    const others = [];
    for (const key of [2, 3, 4, 5]) others.push(await start({ key }));
    const [last, ...first] = others.toReversed();
    for (const other of first) await other.network.admin.addPeer(a.network.identity.enode);
    await until("as many as have a place", () => a.network.list().length === 1);
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(a.network.list()).toHaveLength(1); // the other place is for a peer that this node dials
    await a.network.admin.addTrustedPeer(last!.network.identity.enode);
    await until("the trusted one came on top", () => a.network.list().length === 2);
    expect((await a.network.admin.peers()).find(({ isTrusted }) => isTrusted)?.publicKey).toBe(last!.network.identity.publicKey);
  });

  it("passes on transactions by announcement and request, both ways, and only where wanted", async () => {
    const [a, b] = await connected();
    const silent = await start({ key: 9, gossipsTransactions: false });
    await silent.network.admin.addPeer(a.network.identity.enode);
    await until("three connections", () => a.network.list().length === 2);
    for (const [from, to, nonce] of [
      [a, b, 1n],
      [b, a, 2n],
    ] as const) {
      const transaction = signed(nonce);
      const encoded = encodeTransaction(transaction);
      const hash = hashTransaction(transaction);
      from.pool.set(Buffer.from(hash).toString("hex"), encoded);
      from.network.announce([{ hash, size: encoded.length, type: transaction.type }]);
      await until("received", () => to.received.some((item) => equalBytes(item.encoded, encoded)));
    }
    expect(silent.received).toEqual([]);
    const newcomer = await start({ key: 11 });
    await newcomer.network.admin.addPeer(a.network.identity.enode);
    await until("a newcomer is told", () => newcomer.received.length > 0);
  });
});

function signed(nonce: bigint): SignedTransaction {
  const unsigned: SignedTransaction = {
    type: 0x02,
    chainId: 7_357n,
    nonce,
    maxPriorityFeePerGas: 1n,
    maxFeePerGas: 10n ** 9n,
    gasLimit: 21_000n,
    to: new Uint8Array(20).fill(7),
    value: 1n,
    data: new Uint8Array(0),
    accessList: [],
  };
  return signTransaction(unsigned, keccak256(Uint8Array.of(5)));
}
