import { once } from "node:events";
import { HEADER, LOG, RECEIPT, TRANSACTION } from "@rnode/eth-api/schemas";
import { schemaFaults } from "@rnode/eth-api/testing";
import { bytesToHex, type Hex, keccak256 } from "@rnode/primitives";
import { privateKeyToAccount } from "viem/accounts";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { buildPackage } from "../testing/built-package.ts";
import { COUNTER_CREATION } from "../testing/counter.ts";
import { CHAIN_ID, RICH_ADDRESS, RICH_KEY, startTestClient, type TestClient } from "../testing/test-client.ts";

const account = privateKeyToAccount(RICH_KEY);
const OTHER: Hex = `0x${"5a".repeat(20)}`;
type Json = Record<string, unknown>;

/** A WebSocket client that sends requests and collects notifications by subscription. */
class Listener {
  readonly socket: WebSocket;
  readonly #received: Json[] = [];
  #lastId = 0;

  private constructor(socket: WebSocket) {
    this.socket = socket;
    socket.on("message", (data: Buffer) => this.#received.push(JSON.parse(data.toString("utf8")) as Json));
  }

  static async open(url: string): Promise<Listener> {
    const socket = new WebSocket(url);
    await once(socket, "open");
    return new Listener(socket);
  }

  async ask(method: string, ...params: unknown[]): Promise<Json> {
    const id = ++this.#lastId;
    this.socket.send(JSON.stringify({ jsonrpc: "2.0", id, method, params }));
    await expect.poll(() => this.#received.some((message) => message.id === id)).toBe(true);
    return this.#received.find((message) => message.id === id)!;
  }

  async subscribe(...params: unknown[]): Promise<string> {
    const { result } = await this.ask("eth_subscribe", ...params);
    expect(result).toMatch(/^0x[0-9a-f]+$/);
    return result as string;
  }

  of<T = Json>(subscription: string): T[] {
    const own = this.#received.filter(({ params }) => (params as Json | undefined)?.subscription === subscription);
    return own.map(({ params }) => (params as Json).result as T);
  }

  /** The notifications of a subscription, once there are `count`. */
  async told<T = Json>(subscription: string, count: number): Promise<T[]> {
    await expect.poll(() => this.of(subscription).length).toBeGreaterThanOrEqual(count);
    return this.of<T>(subscription);
  }
}

const CASES: readonly { profile: "R" | "G"; readers: number; tags: string[] }[] = [
  { profile: "R", readers: 0, tags: [] },
  { profile: "R", readers: 1, tags: ["long"] },
  { profile: "G", readers: 0, tags: [] },
  { profile: "G", readers: 1, tags: ["long"] },
];
for (const { profile, readers, tags } of CASES)
  describe(`subscriptions, profile ${profile}, ${readers} readers`, { tags }, () => {
    let node: TestClient;
    let counter: Hex;
    let nonce = 0;
    const send = async (fields: object): Promise<Hex> => {
      const fees = { type: "eip1559", maxFeePerGas: 10n ** 10n, maxPriorityFeePerGas: 1n } as const;
      const raw = await account.signTransaction({ chainId: CHAIN_ID, gas: 200_000n, nonce: nonce++, ...fees, ...fields });
      return node.rpc.call<Hex>("eth_sendRawTransaction", [raw]);
    };

    beforeAll(async () => {
      if (readers > 0) buildPackage();
      const own = [`--rpc.workers=${readers}`, "--rpc.max-subscriptions-per-connection=4"];
      node = await startTestClient([`--profile=${profile}`, ...own]);
      const creation = await send({ data: COUNTER_CREATION });
      await node.buildBlock();
      counter = (await node.rpc.call<{ contractAddress: Hex }>("eth_getTransactionReceipt", [creation])).contractAddress;
    });
    afterAll(() => node.remove());

    it("logs: a range that cannot be is refused on face G, and bounds what is told there", async () => {
      const listener = await Listener.open(node.wsUrl);
      const pending = { code: -32602, message: "pending logs are not supported" };
      const badRange = { code: -32602, message: "invalid block range params" };
      const ranges: readonly (readonly [object, object])[] = [
        [{ fromBlock: "pending" }, pending],
        [{ toBlock: "pending" }, pending],
        [{ fromBlock: "0x0", toBlock: "pending" }, pending],
        [{ fromBlock: "0x2", toBlock: "0x1" }, badRange],
        [{ fromBlock: "latest", toBlock: "0x1" }, badRange],
        [{ toBlock: "earliest" }, badRange],
        [{ fromBlock: "safe" }, badRange],
        [{ fromBlock: "finalized", toBlock: "finalized" }, badRange],
      ];
      for (const [range, refusal] of ranges) {
        const { error, result } = await listener.ask("eth_subscribe", "logs", range);
        if (profile === "G") expect([range, error]).toEqual([range, refusal]);
        else await listener.ask("eth_unsubscribe", result);
      }
      const both = await listener.ask("eth_subscribe", "logs", { fromBlock: "0x0", blockHash: `0x${"00".repeat(32)}` });
      expect(both.error).toMatchObject({ code: -32602 });
      const { number } = await node.rpc.call<{ number: Hex }>("eth_getBlockByNumber", ["latest", false]);
      const next: Hex = `0x${(Number(number) + 1).toString(16)}`;
      const [until, from] = [
        await listener.subscribe("logs", { fromBlock: "0x0", toBlock: next, address: counter }),
        await listener.subscribe("logs", { fromBlock: next, address: counter }),
      ];
      for (let block = 0; block < 2; block++) {
        await send({ to: counter });
        await node.buildBlock();
      }
      expect(await listener.told(from, 2)).toHaveLength(2);
      expect(listener.of(until)).toHaveLength(profile === "G" ? 1 : 2);
      listener.socket.close();
    });

    it("newHeads: the header of every block, also of those that a reorganisation brings", async () => {
      const listener = await Listener.open(node.wsUrl);
      const heads = await listener.subscribe("newHeads");
      const first = await node.buildBlock();
      const parent = await node.rpc.call<{ parentHash: Hex; timestamp: Hex }>("eth_getBlockByHash", [first.hash, false]);
      // Two blocks replace the one.
      const second = await node.buildBlock({ parent: { hash: parent.parentHash, timestampSec: Number(parent.timestamp) } });
      const third = await node.buildBlock();
      const told = await listener.told(heads, 3);
      expect(told.map(({ hash }) => hash)).toEqual([first.hash, second.hash, third.hash]);
      for (const header of told) expect(schemaFaults(HEADER, header)).toEqual([]);
      listener.socket.close();
    });

    it("logs: those that match, and again as removed when their block leaves the chain", async () => {
      const listener = await Listener.open(node.wsUrl);
      const all = await listener.subscribe("logs");
      const own = await listener.subscribe("logs", { address: [counter, OTHER], topics: [] });
      const others = await listener.subscribe("logs", { address: OTHER });
      const byTopic = await listener.subscribe("logs", { topics: [bytesToHex(keccak256(new Uint8Array(1)))] });
      const hash = await send({ to: counter });
      const block = await node.buildBlock();
      const [log] = await listener.told(own, 1);
      expect(log).toMatchObject({
        address: counter,
        transactionHash: hash,
        blockHash: block.hash,
        removed: false,
        logIndex: "0x0",
      });
      expect(schemaFaults(LOG, log)).toEqual([]);
      const { parentHash, timestamp } = await node.rpc.call<{ parentHash: Hex; timestamp: Hex }>("eth_getBlockByHash", [
        block.hash,
        false,
      ]);
      const instead = await node.buildBlock({ parent: { hash: parentHash, timestampSec: Number(timestamp) }, noTxPool: true });
      expect((await listener.told(own, 2))[1]).toEqual({ ...log, removed: true });
      expect(instead.hash).not.toBe(block.hash);
      // The transaction is back in the pool; the next block includes it and its log again.
      const again = await node.buildBlock();
      expect((await listener.told(own, 3))[2]).toMatchObject({ transactionHash: hash, blockHash: again.hash, removed: false });
      expect(listener.of(all)).toEqual(listener.of(own));
      expect([listener.of(others), listener.of(byTopic)]).toEqual([[], []]);
      listener.socket.close();
    });

    it("newPendingTransactions: hashes, or whole transactions when asked so; what waits for a nonce when it no longer does", async () => {
      const listener = await Listener.open(node.wsUrl);
      const hashes = await listener.subscribe("newPendingTransactions");
      const alsoHashes = await listener.subscribe("newPendingTransactions", false);
      const whole = await listener.subscribe("newPendingTransactions", true);
      nonce++;
      const later = await send({ to: OTHER });
      nonce -= 2;
      const sooner = await send({ to: OTHER, value: 1n });
      nonce++;
      expect(await listener.told<string>(hashes, 2)).toEqual([sooner, later]);
      expect(await listener.told<string>(alsoHashes, 2)).toEqual([sooner, later]);
      const transactions = await listener.told(whole, 2);
      expect(transactions.map(({ hash }) => hash)).toEqual([sooner, later]);
      for (const tx of transactions) {
        expect(schemaFaults(TRANSACTION, tx)).toEqual([]);
        expect(tx).toMatchObject({ from: RICH_ADDRESS, blockHash: null, blockNumber: null });
      }
      await node.buildBlock();
      listener.socket.close();
    });

    it("transactionReceipts: one array a block, as eth_getTransactionReceipt shows them; of some transactions when asked so", async () => {
      const listener = await Listener.open(node.wsUrl);
      const [own, other] = [await send({ to: counter }), await send({ to: OTHER })];
      const all = await listener.subscribe("transactionReceipts");
      const one = await listener.subscribe("transactionReceipts", { transactionHashes: [other, `0x${"ab".repeat(32)}`] });
      const unfiltered = await listener.subscribe("transactionReceipts", { transactionHashes: [] });
      const none = await listener.subscribe("transactionReceipts", { transactionHashes: [`0x${"ab".repeat(32)}`] });
      const block = await node.buildBlock();
      const receipts = await node.rpc.call<Json[]>("eth_getBlockReceipts", [block.hash]);
      expect(receipts.slice(1).map(({ transactionHash }) => transactionHash)).toEqual([own, other]);
      expect(await listener.told(all, 1)).toEqual([receipts]);
      expect(await listener.told(one, 1)).toEqual([[receipts[2]]]);
      expect(await listener.told(unfiltered, 1)).toEqual([receipts]);
      for (const receipt of receipts) expect(schemaFaults(RECEIPT, receipt)).toEqual([]);
      // The block leaves the chain: the transaction is told of again only when another block has it.
      const { parentHash, timestamp } = await node.rpc.call<{ parentHash: Hex; timestamp: Hex }>("eth_getBlockByHash", [
        block.hash,
        false,
      ]);
      await node.buildBlock({ parent: { hash: parentHash, timestampSec: Number(timestamp) }, noTxPool: true });
      const again = await node.buildBlock();
      const [, second] = await listener.told<Json[]>(one, 2);
      expect(second).toMatchObject([{ transactionHash: other, blockHash: again.hash }]);
      expect(await listener.told(all, 3)).toHaveLength(3);
      expect(listener.of(none)).toEqual([]);
      listener.socket.close();
    });

    it("transactionReceipts: filters that do not fit are refused", async () => {
      const listener = await Listener.open(node.wsUrl);
      const refused = async (filter: unknown) => (await listener.ask("eth_subscribe", "transactionReceipts", filter)).error;
      for (const filter of [true, [], "0x", { transactionHashes: "0x" }, { transactionHashes: ["0x12"] }])
        expect(await refused(filter)).toMatchObject({ code: -32602 });
      const limit = profile === "R" ? 1000 : 200;
      const hashes = Array.from({ length: limit + 1 }, (_, index) => `0x${index.toString(16).padStart(64, "0")}`);
      expect(await refused({ transactionHashes: hashes })).toMatchObject({ code: profile === "R" ? -32602 : -32000 });
      expect(await refused({ transactionHashes: hashes.slice(1) })).toBeUndefined();
      listener.socket.close();
    });

    it("syncing: that it does not sync, at once", async () => {
      const listener = await Listener.open(node.wsUrl);
      const syncing = await listener.subscribe("syncing");
      expect(await listener.told<boolean>(syncing, 1)).toEqual([false]);
      await node.buildBlock();
      expect(await listener.ask("eth_unsubscribe", syncing)).toMatchObject({ result: true });
      expect(listener.of(syncing)).toEqual([false]); // a new block does not change the sync status
      listener.socket.close();
    });

    it("end with eth_unsubscribe, once; of another connection they are unknown", async () => {
      const [listener, stranger] = [await Listener.open(node.wsUrl), await Listener.open(node.wsUrl)];
      const heads = await listener.subscribe("newHeads");
      const unknown = profile === "R" ? { result: false } : { error: { code: -32000, message: "subscription not found" } };
      expect(await stranger.ask("eth_unsubscribe", heads)).toMatchObject(unknown);
      expect(await listener.ask("eth_unsubscribe", heads)).toMatchObject({ result: true });
      expect(await listener.ask("eth_unsubscribe", heads)).toMatchObject(unknown);
      await node.buildBlock();
      await listener.ask("eth_blockNumber");
      expect(listener.of(heads)).toEqual([]);
      for (const { socket } of [listener, stranger]) socket.close();
    });

    it("are limited a connection, with an error that says so; ending one makes room", async () => {
      const listener = await Listener.open(node.wsUrl);
      const ids: string[] = [];
      for (let count = 0; count < 4; count++) ids.push(await listener.subscribe("newHeads"));
      const { error } = (await listener.ask("eth_subscribe", "newHeads")) as { error: { code: number; message: string } };
      expect(error.code).toBe(profile === "R" ? -32006 : -32000);
      expect(error.message).toMatch(/^too many subscriptions on (?:the|this) connection/i);
      await (await Listener.open(node.wsUrl)).subscribe("newHeads");
      await listener.ask("eth_unsubscribe", ids[0]);
      await listener.subscribe("newHeads");
      listener.socket.close();
    });

    it("are described by rpc.discover of their listener, and only there", async () => {
      const listener = await Listener.open(node.wsUrl);
      const { result } = (await listener.ask("rpc.discover")) as { result: { methods: { name: string; params: Json[] }[] } };
      const own = result.methods.filter(({ name }) => name.endsWith("subscribe"));
      expect(own.map(({ name }) => name)).toEqual(["eth_subscribe", "eth_unsubscribe"]);
      expect(own[0]!.params[0]).toMatchObject({
        name: "kind",
        schema: { enum: ["newHeads", "logs", "newPendingTransactions", "transactionReceipts", "syncing"] },
      });
      const overHttp = await node.rpc.call<{ methods: { name: string }[] }>("rpc.discover");
      expect(overHttp.methods.filter(({ name }) => name.endsWith("subscribe"))).toEqual([]);
      listener.socket.close();
    });

    it("answers what does not exist or does not fit in the profile's words", async () => {
      const listener = await Listener.open(node.wsUrl);
      const refused = async (...params: unknown[]) => (await listener.ask("eth_subscribe", ...params)).error;
      expect(await refused("newBlocks")).toMatchObject({ code: profile === "R" ? -32602 : -32601 });
      expect(await refused()).toMatchObject({ code: -32602 });
      expect(await refused("logs", { address: "0x12" })).toMatchObject({ code: -32602 });
      expect(await refused("logs", { topics: [1] })).toMatchObject({ code: -32602 });
      for (const method of ["eth_subscribe", "eth_unsubscribe"])
        await expect(node.rpc.call(method, ["newHeads"])).rejects.toMatchObject({ code: -32601 });
      listener.socket.close();
    });
  });

/** of two megabytes each: several times what sockets hold */
const ANSWERS = 24;
for (const { profile, readers, tags } of CASES)
  describe(`a client that does not read for a while, profile ${profile}, ${readers} readers`, { tags }, () => {
    it("gets its answers when it reads again, while others are served", async () => {
      if (readers > 0) buildPackage();
      const node = await startTestClient([`--profile=${profile}`, `--rpc.workers=${readers}`, "--ws.api=eth"]);
      try {
        const [slow, quick] = [await Listener.open(node.wsUrl), await Listener.open(node.wsUrl)];
        const heads = await quick.subscribe("newHeads");
        slow.socket.pause();
        // Answers of two megabytes (PUSH3 1000000 PUSH0 RETURN), which the client does not read.
        const params = [{ to: OTHER }, "latest", { [OTHER]: { code: "0x620f42405ff3" } }];
        for (let id = 0; id < ANSWERS; id++) slow.socket.send(JSON.stringify({ jsonrpc: "2.0", id, method: "eth_call", params }));
        await node.buildBlock();
        await quick.told(heads, 1);
        let answers = 0;
        slow.socket.on("message", () => answers++);
        slow.socket.resume();
        await expect.poll(() => answers).toBe(ANSWERS);
        await node.buildBlock();
        await quick.told(heads, 2);
        quick.socket.close();
      } finally {
        await node.remove();
      }
    });
  });
