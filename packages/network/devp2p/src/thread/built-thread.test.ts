import { spawnSync } from "node:child_process";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { createMetrics, type Logger, noMetrics, silentLogger } from "@rnode/observe";
import { bytesToHex, keccak256 } from "@rnode/primitives";
import { systemClock } from "@rnode/program";
import { until } from "@rnode/program/testing";
import { encodeTransaction, hashTransaction } from "@rnode/protocol";
import { encodeAccount, verifyRange } from "@rnode/trie";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { decodeSlimAccount } from "../snap/slim-account.ts";
import { transfer } from "../testing/plain-chain.ts";
import { startTestNode, type TestNode, type TestNodeOptions } from "../testing/test-node.ts";
import { DevP2PThread } from "./devp2p-thread.ts";

// The thread as it is shipped.

const PACKAGE = fileURLToPath(new URL("../..", import.meta.url));
const BUILT = pathToFileURL(join(PACKAGE, "lib/devp2p-worker.js"));
const LOST = pathToFileURL(join(PACKAGE, "../../kit/threads/test-programs/lost-worker.mjs"));
const LOST_TEXT = "the thread of the network of peers was lost: it is started again";
const never = new AbortController().signal;

const folder = mkdtempSync(join(tmpdir(), "devp2p-thread-"));
const fault = join(folder, "fault");
const nodes: TestNode[] = [];
beforeAll(() => {
  const built = spawnSync(join(PACKAGE, "../../../node_modules/.bin/tsc"), ["-b", PACKAGE], { encoding: "utf8" });
  if (built.error !== undefined) throw built.error;
  vi.stubEnv("RNODE_FAULT", fault);
  vi.stubEnv("RNODE_WORKER", BUILT.href);
});
afterEach(async () => {
  await Promise.all(nodes.splice(0).map((node) => node.close()));
});
afterAll(() => {
  vi.unstubAllEnvs();
});

async function start(options: TestNodeOptions): Promise<TestNode> {
  const node = await startTestNode(options);
  nodes.push(node);
  return node;
}

const inThread = (options: TestNodeOptions, program: URL, log: Logger = silentLogger): Promise<TestNode> =>
  start({
    ...options,
    open: (config, handlers) =>
      DevP2PThread.start(config, handlers, { clock: systemClock, log, metrics: noMetrics, metricsPrefix: "test_", program }),
  });

describe("the network of peers in its thread", () => {
  it("brings answers, faults, transactions and what operators ask from thread to thread, and counts", async () => {
    const a = await inThread({ key: 1, blocks: 20 }, BUILT);
    const b = await start({ key: 2, blocks: 20 });
    await b.network.admin.addPeer(a.network.identity.enode);
    await until("connected", () => a.network.list().length === 1);
    const [peer] = a.network.list();
    expect(peer).toMatchObject({ id: b.network.identity.publicKey, head: { number: 20 } });
    const headers = await peer!.headers({ start: 1, limit: 20 }, never);
    expect(headers.map((header) => bytesToHex(keccak256(header)))).toEqual(
      b.blocks.slice(1).map(({ commit }) => bytesToHex(commit.hash)),
    );
    const [root, first, last] = [b.blocks.at(-1)!.commit.block.header.stateRoot, new Uint8Array(32), new Uint8Array(32).fill(0xff)];
    const range = { root, origin: first, limit: last, bytes: 1 << 20 };
    const { accounts, proof } = await peer!.state!.accounts(range, never);
    const entries = accounts.map(({ hash, body }) => ({ key: hash, value: encodeAccount(decodeSlimAccount(body)) }));
    expect(verifyRange(root, { origin: first, entries, proof })).toMatchObject({ hasMore: false });
    const { slots } = await peer!.state!.slots({ ...range, accounts: accounts.map(({ hash }) => hash), origin: first }, never);
    expect(slots.length).toBeGreaterThan(0);
    expect(await peer!.state!.codes({ hashes: [keccak256(first)], bytes: 1 }, never)).toEqual([]);
    await expect(peer!.headers({ start: 1, limit: 1 }, AbortSignal.abort())).rejects.toMatchObject({
      code: "devp2p/request-aborted",
    });
    expect((await a.network.admin.peers()).map(({ clientId }) => clientId)).toEqual(["test/2"]);
    await expect(a.network.admin.addPeer("nonsense")).rejects.toMatchObject({ code: "devp2p/bad-enode" });

    const transaction = transfer(1n);
    const [hash, encoded] = [hashTransaction(transaction), encodeTransaction(transaction)];
    a.pool.set(Buffer.from(hash).toString("hex"), encoded);
    a.network.announce([{ hash, size: encoded.length, type: transaction.type }]);
    await until("what the thread asked the pool for reached the peer", () => b.received.length === 1);
    const other = encodeTransaction(transfer(2n));
    b.pool.set(Buffer.from(hashTransaction(transfer(2n))).toString("hex"), other);
    b.network.announce([{ hash: hashTransaction(transfer(2n)), size: other.length, type: transaction.type }]);
    await until("a transaction of the peer", () => a.received.length === 1);
    expect(a.received[0]!.encoded).toEqual(other);

    const metrics = createMetrics({ prefix: "test_", ofProcess: false });
    const { body } = await metrics.expose(await (a.network as DevP2PThread).collect());
    expect(body).toMatch(/^test_devp2p_peers.* 1$/m);

    peer!.report("lied", "about nothing");
    await until("the fault reached the thread", () => a.network.list().length === 0);
    await expect(peer!.headers({ start: 1, limit: 1 }, never)).rejects.toMatchObject({ code: "devp2p/peer-gone" });
    await a.network.close();
    await expect(a.network.admin.peers()).rejects.toMatchObject({ code: "devp2p/closed" });
  });

  it("comes back with its identity, port and bans after it was lost, and says so", { tags: "long" }, async () => {
    const lines: string[] = [];
    const log: Logger = { ...silentLogger, level: "info", error: (text) => lines.push(text), info: () => {}, warn: () => {} };
    const a = await inThread({ key: 3 }, LOST, log);
    const { enode } = a.network.identity;
    const [b, banned] = [await start({ key: 4 }), await start({ key: 5 })];
    await b.network.admin.addPeer(enode);
    await banned.network.admin.addPeer(enode);
    await until("both are connected", () => a.network.list().length === 2);
    a.network
      .list()
      .find(({ id }) => id === banned.network.identity.publicKey)!
      .report("lied", "a header that is not there");
    await until("one is banned", () => a.network.list().length === 1);
    const [peer] = a.network.list();

    writeFileSync(fault, "");
    await until("lost", () => lines.length > 0);
    expect(lines).toEqual([LOST_TEXT]);
    expect(a.network.list()).toEqual([]);
    await expect(a.network.admin.peers()).rejects.toMatchObject({ code: "devp2p/thread-lost" });
    await expect(peer!.headers({ start: 1, limit: 1 }, never)).rejects.toMatchObject({ code: "devp2p/thread-lost" });
    await until("the peer, which dials again, is connected", () => a.network.list().length > 0);
    expect(a.network.identity.enode).toBe(enode);
    expect(a.network.list().map(({ id }) => id)).toEqual([b.network.identity.publicKey]);
    const headers = await a.network.list()[0]!.headers({ start: 1, limit: 4 }, never);
    expect(headers).toHaveLength(4);
  });

  it("fails to start in the words of the setting that is wrong", async () => {
    await expect(inThread({ key: 6, trustedPeers: ["nonsense"] }, BUILT)).rejects.toMatchObject({ code: "devp2p/bad-enode" });
  });
});
