import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { until } from "@rnode/program/testing";
import { privateKeyToAccount } from "viem/accounts";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { buildPackage, PROGRAM } from "../testing/built-package.ts";
import { COUNTER_CREATION } from "../testing/counter.ts";
import { KillableClient } from "../testing/kill-process.ts";
import { type Connection, connectToEach } from "../testing/reader-connections.ts";
import { CHAIN_ID, GENESIS, RICH_ADDRESS, RICH_KEY, startTestClient, type TestClient } from "../testing/test-client.ts";

const OTHER = "0x00000000000000000000000000000000000000aa";
/** JUMPDEST, PUSH1 0, JUMP */
const ENDLESS = { to: "0x00000000000000000000000000000000000000bb" } as const;
const endlessAlloc = { [ENDLESS.to]: { balance: "0x0", nonce: "0x1", code: "0x5b600056" } } as const;
const NO_LIMITS = ["--rpc.gascap=1000000000000000", "--rpc.evmtimeout=0"];
const account = privateKeyToAccount(RICH_KEY);
const sign = (nonce: number, fields: object = {}) =>
  account.signTransaction({
    chainId: CHAIN_ID,
    type: "eip1559",
    gas: 200_000n,
    maxFeePerGas: 2_000_000_000n,
    nonce,
    to: OTHER,
    ...fields,
  });

beforeAll(() => buildPackage(), 120_000);

const closers: (() => void | Promise<void>)[] = [];
const start = async (...args: Parameters<typeof startTestClient>): Promise<TestClient> => {
  const node = await startTestClient(...args);
  closers.push(() => node.remove());
  return node;
};
const each = async (node: TestClient, count: number): Promise<Connection[]> => {
  const connections = (await connectToEach(node.httpUrl, count)).flat();
  closers.push(() => {
    for (const connection of connections) connection.close();
  });
  return connections;
};
const cleanUp = async (): Promise<void> => {
  for (const closer of closers.splice(0).reverse()) await closer();
};

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};
/** A WebSocket connection that collects notifications by subscription. */
async function openSocket(url: string) {
  const socket = new WebSocket(url);
  closers.push(() => socket.terminate());
  await new Promise((resolve, reject) => socket.once("open", resolve).once("error", reject));
  const answers = new Map<number, (result: unknown) => void>();
  const notified = new Map<string, unknown[]>();
  socket.on("message", (data: Buffer) => {
    const { id, result, params } = JSON.parse(data.toString());
    if (params === undefined) answers.get(id)?.(result);
    else notified.set(params.subscription, [...(notified.get(params.subscription) ?? []), params.result]);
  });
  let nextId = 0;
  return {
    call: <T = unknown>(method: string, params: unknown[] = []): Promise<T> =>
      new Promise((resolve) => {
        const id = nextId++;
        answers.set(id, (result) => resolve(result as T));
        socket.send(JSON.stringify({ jsonrpc: "2.0", id, method, params }));
      }),
    of: (subscription: string): unknown[] => notified.get(subscription) ?? [],
  };
}

describe("two readers", () => {
  let node: TestClient;
  let readers: Connection[];
  let nonce = 0;
  beforeAll(async () => {
    node = await start(["--rpc.workers=2", ...NO_LIMITS], undefined, { alloc: endlessAlloc });
    readers = await each(node, 2);
  });
  afterAll(cleanUp);

  it("show a block as soon as fork choice has answered", async () => {
    for (let round = 0; round < 20; round++) {
      const { hash, number } = await node.buildBlock();
      const seen = await Promise.all(readers.map(({ call }) => call("eth_getBlockByNumber", ["latest", false])));
      expect(seen).toMatchObject([{ hash }, { hash }]);
      expect(await readers[0]!.call("eth_blockNumber")).toBe(`0x${number.toString(16)}`);
    }
  });

  it("show a block as soon as any of them has announced it", async () => {
    const socket = await openSocket(node.wsUrl);
    const heads = await socket.call<string>("eth_subscribe", ["newHeads"]);
    const { hash, number } = await node.buildBlock();
    await until("newHeads", () => socket.of(heads).length > 0);
    expect(socket.of(heads)).toMatchObject([{ hash }]);
    for (const { call } of readers)
      expect(await call("eth_getBlockByNumber", [`0x${number.toString(16)}`, false])).toMatchObject({ hash });
  });

  it("ask the writer whether the client is ready", async () => {
    await node.buildBlock();
    const statuses = ["", "?max-lag-blocks=0", "?max-age=60", "?max-age="].map(
      async (query) => (await fetch(`${node.httpUrl}/readyz${query}`)).status,
    );
    expect(await Promise.all(statuses)).toEqual([200, 200, 503, 400]); // the chain's time is long ago
  });

  it("share one pool", async () => {
    const [first, second] = readers as [Connection, Connection];
    const socket = await openSocket(node.wsUrl);
    const pending = await socket.call<string>("eth_subscribe", ["newPendingTransactions"]);
    const filter = await second.call("eth_newPendingTransactionFilter");
    const hash = await first.call<string>("eth_sendRawTransaction", [await sign(nonce++)]);
    expect(await second.call("eth_getTransactionByHash", [hash])).toMatchObject({ hash, blockHash: null });
    expect(await second.call("eth_getTransactionCount", [RICH_ADDRESS, "pending"])).toBe("0x1");
    expect(await second.call("eth_getTransactionCount", [RICH_ADDRESS, "latest"])).toBe("0x0");
    expect(await second.call("txpool_status")).toEqual({ pending: "0x1", queued: "0x0" });
    await until("a pending transaction", () => socket.of(pending).length > 0);
    expect(socket.of(pending)).toEqual([hash]);
    expect(await first.call("eth_getFilterChanges", [filter])).toEqual([hash]);
    // In the writer's words.
    await expect(second.call("eth_sendRawTransaction", [await sign(0)])).rejects.toMatchObject({
      code: -32000,
      message: "already known",
    });
    await expect(second.call("eth_sendRawTransaction", ["0x02"])).rejects.toMatchObject({ code: -32602 });
    const receipt = second.call<{ transactionHash: string }>("eth_sendRawTransactionSync", [await sign(nonce++)]);
    await until("the transaction", async () => (await first.call<{ pending: string }>("txpool_status")).pending === "0x2");
    const { number } = await node.buildBlock();
    expect(await receipt).toMatchObject({ blockNumber: `0x${number.toString(16)}`, status: "0x1" });
    expect(await first.call("eth_getTransactionByHash", [hash])).toMatchObject({ blockNumber: `0x${number.toString(16)}` });
  });

  it("tell of every transaction that is sent after the answer to a subscription or a filter", async () => {
    const [first, second] = readers as [Connection, Connection];
    for (let round = 0; round < 8; round++) {
      const socket = await openSocket(node.wsUrl);
      const raw = await sign(nonce++);
      if (round % 2 === 0) {
        const pending = await socket.call<string>("eth_subscribe", ["newPendingTransactions"]);
        const hash = await (round % 4 === 0 ? first : second).call<string>("eth_sendRawTransaction", [raw]);
        await until("a pending transaction", () => socket.of(pending).includes(hash));
        await socket.call("eth_unsubscribe", [pending]);
      } else {
        const filter = await first.call("eth_newPendingTransactionFilter");
        const hash = await second.call<string>("eth_sendRawTransaction", [raw]);
        await until("a pending transaction", async () => {
          const changes = await first.call<string[]>("eth_getFilterChanges", [filter]);
          return changes.includes(hash);
        });
        await first.call("eth_uninstallFilter", [filter]);
      }
    }
    await node.buildBlock();
  });

  it("keep filters for each other, and follow a reorganisation", async () => {
    const [first, second] = readers as [Connection, Connection];
    const creation = await first.call<string>("eth_sendRawTransaction", [
      await sign(nonce++, { to: undefined, data: COUNTER_CREATION }),
    ]);
    const base = await node.buildBlock();
    const { contractAddress } = await second.call<{ contractAddress: string }>("eth_getTransactionReceipt", [creation]);
    const logs = await first.call("eth_newFilter", [{ address: contractAddress }]);
    const blocks = await second.call("eth_newBlockFilter");
    const socket = await openSocket(node.wsUrl);
    const subscription = await socket.call<string>("eth_subscribe", ["logs", { address: contractAddress }]);

    await first.call("eth_sendRawTransaction", [await sign(nonce++, { to: contractAddress })]);
    const left = await node.buildBlock();
    await until("a log", () => socket.of(subscription).length > 0);
    expect(await second.call("eth_getFilterChanges", [logs])).toMatchObject([{ blockHash: left.hash, removed: false }]);
    expect(await second.call("eth_getFilterChanges", [logs])).toEqual([]);
    expect(await second.call("eth_getFilterLogs", [logs])).toMatchObject([{ blockHash: left.hash }]);
    expect(await first.call("eth_getFilterChanges", [blocks])).toEqual([left.hash]);

    // Another block on the same parent, without the transaction, replaces the block; the next block includes the transaction again.
    const parent = await node.engine.call<{ timestamp: string }>("eth_getBlockByHash", [base.hash, false]);
    const sibling = await node.buildBlock({
      parent: { hash: base.hash, timestampSec: Number(parent.timestamp) + 1 },
      noTxPool: true,
    });
    const next = await node.buildBlock();
    await until("three logs", () => socket.of(subscription).length >= 3);
    const expected = [
      { blockHash: left.hash, removed: true },
      { blockHash: next.hash, removed: false },
    ];
    expect(socket.of(subscription).slice(1)).toMatchObject(expected);
    expect(await second.call("eth_getFilterChanges", [logs])).toMatchObject(expected);
    expect(await first.call("eth_getFilterChanges", [blocks])).toEqual([sibling.hash, next.hash]);
    // The writer remembers a block that fork choice has left; the database does not.
    expect(await first.call("eth_getBlockByHash", [left.hash, false])).toMatchObject({ hash: left.hash });
    expect(await first.call("eth_getBlockByHash", [`0x${"12".repeat(32)}`, false])).toBeNull();
    expect(await first.call("eth_uninstallFilter", [blocks])).toBe(true);
    expect(await second.call("eth_uninstallFilter", [blocks])).toBe(false);
  });

  it("work without delaying the writer or each other, and die alone", { tags: "long" }, async () => {
    const connections = await connectToEach(node.httpUrl, 2, 3);
    closers.push(() => {
      for (const connection of connections.flat()) connection.close();
    });
    const [[busy, tracing, searching], [other]] = connections as [[Connection, Connection, Connection], [Connection]];
    await other.call("eth_sendRawTransaction", [await sign(nonce++, { to: ENDLESS.to, gas: 10_000_000n })]);
    const { number } = await node.buildBlock();
    const filter = await busy.call("eth_newBlockFilter");
    const order: string[] = [];
    const heavy = Promise.allSettled([
      tracing.call("debug_traceBlockByNumber", [`0x${number.toString(16)}`, {}]),
      searching.call("eth_getLogs", [{ fromBlock: "0x0", toBlock: "latest" }]),
      busy.call("eth_call", [ENDLESS, "latest"]),
    ]).then((outcomes) => {
      order.push("heavy");
      return outcomes.map(({ status }) => status);
    });
    for (let round = 0; round < 5; round++) {
      const { hash } = await node.buildBlock();
      expect(await other.call("eth_getBlockByNumber", ["latest", false])).toMatchObject({ hash });
      order.push("block");
    }
    process.kill(node.client.readerPids()[busy.reader]!, "SIGKILL");
    expect(await heavy).toContain("rejected"); // what it was working on is lost
    expect(order).toEqual([...Array.from({ length: 5 }, () => "block"), "heavy"]);

    const head = await other.call("eth_blockNumber");
    await expect(other.call("eth_getFilterChanges", [filter])).rejects.toThrow("filter not found");
    await until("another reader", () => node.client.readerPids().length === 2);
    const [again] = await each(node, 2);
    expect(await again!.call("eth_blockNumber")).toBe(head);
  });
});

describe("one reader", () => {
  let node: TestClient;
  beforeAll(async () => {
    node = await start(["--rpc.workers=1", "--rpc.workertimeout=2s", ...NO_LIMITS], undefined, { alloc: endlessAlloc });
  });
  afterAll(cleanUp);

  it("leaves the port open when it is killed, and another takes its place", async () => {
    const [before] = (await each(node, 1)) as [Connection];
    const filter = await before.call("eth_newBlockFilter");
    const [pid] = node.client.readerPids();
    process.kill(pid!, "SIGKILL");
    const { hash } = await node.buildBlock();
    const [after] = (await each(node, 1)) as [Connection]; // waited in the socket that stayed open
    expect(await after.call("eth_getBlockByNumber", ["latest", false])).toMatchObject({ hash });
    await expect(after.call("eth_getFilterChanges", [filter])).rejects.toThrow("filter not found");
    expect(node.client.readerPids()).not.toContain(pid);
    const socket = await openSocket(node.wsUrl);
    const heads = await socket.call<string>("eth_subscribe", ["newHeads"]);
    await node.buildBlock();
    await until("newHeads", () => socket.of(heads).length > 0);
  });

  it("ends a request that takes too long, and is itself replaced when it does not respond", { tags: "long" }, async () => {
    const [busy] = (await each(node, 1)) as [Connection];
    const [pid] = node.client.readerPids();
    await expect(busy.call("eth_call", [ENDLESS, "latest"])).rejects.toMatchObject({
      code: -32000,
      message: expect.stringContaining("--rpc.workertimeout"),
    });
    expect(node.client.readerPids()).toEqual([pid]);
    process.kill(pid!, "SIGSTOP");
    await until("another reader", () => node.client.readerPids().length === 1 && node.client.readerPids()[0] !== pid);
    const [again] = (await each(node, 1)) as [Connection];
    const { hash } = await node.buildBlock();
    expect(await again.call("eth_getBlockByNumber", ["latest", false])).toMatchObject({ hash });
  });
});

describe("the end of the writer", () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "rengine-readers-"));
    writeFileSync(join(folder, "genesis.json"), JSON.stringify({ ...GENESIS, alloc: { ...GENESIS.alloc, ...endlessAlloc } }));
  });

  it("is that of its readers, also of a busy one, when it is killed", { tags: "long" }, async () => {
    const writer = new KillableClient(PROGRAM, [
      `--chain=${join(folder, "genesis.json")}`,
      `--datadir=${join(folder, "data")}`,
      "--http",
      "--http.port=0",
      "--authrpc.port=0",
      "--max-peers=0",
      "--rpc.workers=2",
      ...NO_LIMITS,
      "--log.level=debug",
    ]);
    const url = `http://127.0.0.1:${await writer.logged(/HTTP JSON-RPC listens.* port=(\d+)/)}`;
    const pids = [...writer.log.matchAll(/reader is ready.* pid=(\d+)/g)].map(([, pid]) => Number(pid));
    expect(pids).toHaveLength(2);
    const [[busy]] = (await connectToEach(url, 2)) as [[Connection]];
    const cut = expect(busy.call("eth_call", [ENDLESS, "latest"])).rejects.toMatchObject({ code: "ECONNRESET" });
    await sleep(200); // time for it to start working
    await writer.killAfter(0);
    await cut;
    await until("the readers' end", () => !pids.some(isAlive));
  });
});
