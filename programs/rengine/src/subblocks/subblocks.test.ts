import { brotliDecompressSync } from "node:zlib";
import { bytesToHex, type Hex, hexToBytes, keccak256, toQuantity } from "@rnode/primitives";
import { createPublicClient, http } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { WebSocket } from "ws";
import { buildPackage } from "../testing/built-package.ts";
import { COUNTER_CREATION } from "../testing/counter.ts";
import { CHAIN_ID, RICH_ADDRESS, RICH_KEY, startTestClient, type TestClient } from "../testing/test-client.ts";

const account = privateKeyToAccount(RICH_KEY);
const OTHER: Hex = `0x${"5a".repeat(20)}`;
/** NUMBER PUSH0 MSTORE, RETURN(0, 32) */
const RETURN_NUMBER: Hex = "0x435f5260205ff3";
const PATIENCE = { timeout: 60_000, interval: 10 };
type Json = Record<string, unknown>;
const word = (value: number): Hex => `0x${value.toString(16).padStart(64, "0")}`;

const streamOf = ({ client }: TestClient): string => `ws://127.0.0.1:${client.subblocksPort}`;

/** A sequencer, a client that follows it, and one that follows the follower. */
describe.each([
  ["one process", "R", "0"],
  ["a reader process", "G", "1"],
] as const)("a block under construction, %s", (_, profile, workers) => {
  let sequencer: TestClient;
  let follower: TestClient;
  let last: TestClient;
  /** follows, and has receipts with their block */
  let late: TestClient;
  let nonce = 0;
  const clients: TestClient[] = [];
  const call = <T>(node: TestClient, method: string, ...params: unknown[]): Promise<T> => node.rpc.call<T>(method, params);
  const sign = (fields: object = {}): Promise<Hex> =>
    account.signTransaction({
      ...{ chainId: CHAIN_ID, type: "eip1559", gas: 200_000n, maxFeePerGas: 10n ** 10n, maxPriorityFeePerGas: 1n },
      ...{ nonce: nonce++, to: OTHER, value: 7n },
      ...fields,
    });
  const send = async (fields: object = {}): Promise<Hex> => {
    const raw = await sign(fields);
    await call(sequencer, "eth_sendRawTransaction", raw);
    return bytesToHex(keccak256(hexToBytes(raw)));
  };
  const receiptAt = (node: TestClient, hash: Hex): Promise<Json> =>
    vi.waitFor(async () => {
      const receipt = await call<Json | null>(node, "eth_getTransactionReceipt", hash);
      expect(receipt).not.toBeNull();
      return receipt!;
    }, PATIENCE);
  /** Seals the block of the sequencer, and gives it to all. */
  const seal = async (id: Hex): Promise<Hex> => {
    const { payload, hash } = await sequencer.finishBuild(id);
    for (const node of [follower, last, late]) await node.insert(payload);
    return hash;
  };

  beforeAll(async () => {
    if (workers !== "0") buildPackage();
    const common = [`--profile=${profile}`, `--rpc.workers=${workers}`, "--subblocks.port=0", "--http.api=eth,debug,trace"];
    const start = async (...extra: string[]): Promise<TestClient> => {
      const node = await startTestClient([...common, ...extra]);
      clients.push(node);
      return node;
    };
    sequencer = await start("--subblocks", "--subblocks.interval=50ms", "--subblocks.brotli");
    follower = await start(`--flashblocks-url=${streamOf(sequencer)}`);
    last = await start(`--subblocks-url=${streamOf(follower)},${streamOf(sequencer)}`);
    late = await startTestClient([...common, `--flashblocks-url=${streamOf(sequencer)}`, "--subblocks.early-receipts=false"]);
    // connected, once a block has been seen
    const id = await sequencer.startBuild();
    const hash = await send();
    for (const node of clients) await receiptAt(node, hash).catch(() => {});
    await seal(id);
  }, 240_000);
  afterAll(async () => {
    for (const node of [...clients, late]) await node.remove();
  });

  it("shows transactions, receipts and state everywhere, before the block", async () => {
    const before = Number(await call<Hex>(follower, "eth_blockNumber"));
    const balance = BigInt(await call<Hex>(follower, "eth_getBalance", OTHER, "latest"));
    const id = await sequencer.startBuild();
    const hash = await send();
    for (const node of clients) {
      const receipt = await receiptAt(node, hash);
      expect(receipt).toMatchObject({ status: "0x1", blockNumber: toQuantity(before + 1), transactionIndex: "0x1" });
      expect(await call(node, "eth_blockNumber")).toBe(toQuantity(before));
      expect(await call(node, "eth_getTransactionByHash", hash)).toMatchObject({ blockNumber: toQuantity(before + 1) });
      expect(await call(node, "eth_getRawTransactionByHash", hash)).toMatch(/^0x02/);
      expect(await call(node, "debug_getRawTransaction", hash)).toMatch(/^0x02/);
      expect(await call(node, "eth_getBalance", OTHER, "latest")).toBe(toQuantity(balance));
      expect(await call(node, "eth_getBalance", OTHER, "pending")).toBe(toQuantity(balance + 7n));
      expect(await call(node, "eth_getTransactionCount", RICH_ADDRESS, "pending")).toBe(toQuantity(nonce));
      expect(await call(node, "eth_getBlockTransactionCountByNumber", "pending")).toBe("0x2");
      expect(await call(node, "eth_getTransactionByBlockNumberAndIndex", "pending", "0x1")).toMatchObject({ hash });
      expect(await call(node, "eth_getRawTransactionByBlockNumberAndIndex", "pending", "0x1")).toMatch(/^0x02/);
      expect(await call(node, "eth_getHeaderByNumber", "pending")).toMatchObject({ number: toQuantity(before + 1) });
      const block = await call<Json>(node, "eth_getBlockByNumber", "pending", false);
      expect(block).toMatchObject({ number: toQuantity(before + 1), transactions: [expect.any(String), hash] });
      expect(await call<Json[]>(node, "eth_getBlockReceipts", "pending")).toHaveLength(2);
    }
    const sealed = await seal(id);
    for (const node of clients) {
      expect(await receiptAt(node, hash)).toMatchObject({ blockHash: sealed });
      expect(await call(node, "eth_getBlockByNumber", "pending", false)).toMatchObject({ number: toQuantity(before + 1) });
    }
  });

  it("has no transactions and receipts by hash where they are not wanted before the block", async () => {
    const id = await sequencer.startBuild();
    const hash = await send();
    await vi.waitFor(async () => {
      const { transactions } = await call<{ transactions: Hex[] }>(late, "eth_getBlockByNumber", "pending", false);
      expect(transactions).toContain(hash);
    }, PATIENCE);
    expect(await call(late, "eth_getTransactionReceipt", hash)).toBeNull();
    expect(await call(late, "eth_getTransactionByHash", hash)).toBeNull();
    const blockHash = await seal(id);
    expect(await receiptAt(late, hash)).toMatchObject({ blockHash });
  });

  it("is what calls, estimates and code see", async () => {
    const id = await sequencer.startBuild();
    const hash = await send({ to: undefined, value: 0n, data: COUNTER_CREATION });
    const { contractAddress } = (await receiptAt(follower, hash)) as { contractAddress: Hex };
    expect(await call(follower, "eth_getCode", contractAddress, "latest")).toBe("0x");
    expect(await call<string>(follower, "eth_getCode", contractAddress, "pending")).not.toBe("0x");
    await receiptAt(follower, await send({ to: contractAddress, value: 0n }));
    expect(await call(follower, "eth_getStorageAt", contractAddress, "0x0", "pending")).toBe(`0x${"0".repeat(63)}1`);
    const numberOf = async (tag: string): Promise<bigint> =>
      BigInt(await call<Hex>(follower, "eth_call", { data: RETURN_NUMBER }, tag));
    expect((await numberOf("pending")) - (await numberOf("latest"))).toBe(1n);
    const counting = { from: RICH_ADDRESS, to: contractAddress };
    const gas = async (tag: string): Promise<bigint> => BigInt(await call<Hex>(follower, "eth_estimateGas", counting, tag));
    expect(await gas("pending")).toBeGreaterThan(await gas("latest"));
    const words = await call<Record<Hex, Hex[]>>(follower, "eth_getStorageValues", { [contractAddress]: ["0x0"] }, "pending");
    expect(words).toEqual({ [contractAddress]: [word(1)] });
    expect(await call(follower, "eth_createAccessList", counting, "pending")).toMatchObject({
      accessList: [{ address: contractAddress, storageKeys: [word(0)] }],
    });
    expect(await call<Json>(follower, "eth_getAccountInfo", contractAddress, "pending")).not.toMatchObject({ code: "0x" });
    const bundle = [{ transactions: [{ ...counting, data: "0x00" }] }];
    expect(await call(follower, "eth_callMany", bundle, { blockNumber: "pending" })).toEqual([[{ value: word(1) }]]);
    expect(await call(follower, "debug_traceCall", counting, "pending", { tracer: "callTracer" })).toMatchObject({ type: "CALL" });
    const traced = await call<Json[]>(follower, "debug_traceBlockByNumber", "pending", { tracer: "callTracer" });
    expect(traced.map(({ txHash }) => txHash)).toContain(hash);
    // what needs a sealed block is about the head
    const ofHead = [
      ["eth_getProof", [OTHER, []], []],
      ["eth_getMultiProof", [[[OTHER, []]]], []],
      ["eth_getAccount", [OTHER], []],
      ["eth_feeHistory", ["0x1"], [[]]],
      ["eth_getUncleCountByBlockNumber", [], []],
      ["debug_getRawHeader", [], []],
      ["debug_getRawBlock", [], []],
      ["debug_getRawReceipts", [], []],
      ["debug_getRawTransactions", [], []],
      ["debug_executionWitness", [], []],
      ["debug_storageRangeAt", [], [0, contractAddress, "0x", 10]],
    ] as const;
    for (const [method, before, after] of ofHead) {
      const answer = await call(follower, method, ...before, "latest", ...after);
      expect(await call(follower, method, ...before, "pending", ...after)).toEqual(answer);
    }
    await seal(id);
  });

  it.runIf(profile === "R")("is what trace_ methods see; trace_filter is about sealed blocks", async () => {
    const id = await sequencer.startBuild();
    const created = await send({ to: undefined, value: 0n, data: COUNTER_CREATION });
    const { contractAddress } = (await receiptAt(follower, created)) as { contractAddress: Hex };
    const counted = await send({ to: contractAddress, value: 0n });
    await receiptAt(follower, counted);
    const trace = <T>(name: string, ...params: unknown[]): Promise<T> => call<T>(follower, `trace_${name}`, ...params);
    const hashes = (list: readonly Json[]): unknown[] => [...new Set(list.map(({ transactionHash }) => transactionHash))];
    expect(hashes(await trace("block", "pending"))).toEqual([expect.any(String), created, counted]);
    expect(hashes(await trace("replayBlockTransactions", "pending", ["trace"]))).toEqual([expect.any(String), created, counted]);
    const gas = await trace<{ transactions: Json[] }>("blockOpcodeGas", "pending");
    expect(hashes(gas.transactions)).toEqual([expect.any(String), created, counted]);
    expect(gas.transactions[2]).toEqual(await trace("transactionOpcodeGas", counted));
    const [first] = await trace<Json[]>("transaction", counted);
    expect(first).toMatchObject({ transactionHash: counted, transactionPosition: 2, action: { to: contractAddress } });
    expect(await trace("get", counted, ["0x0"])).toEqual(first);
    expect(await trace("replayTransaction", counted, ["trace"])).toMatchObject({ trace: [{ action: { to: contractAddress } }] });
    // calls and their state
    const counting = { from: RICH_ADDRESS, to: contractAddress, gas: "0x30d40" };
    const storage = { storage: { [word(0)]: { "*": { from: word(1), to: word(2) } } } };
    const stateDiff = { stateDiff: { [contractAddress]: storage } };
    expect(await trace("call", counting, ["stateDiff"], "pending")).toMatchObject(stateDiff);
    expect(await trace("callMany", [[counting, ["stateDiff"]]], "pending")).toMatchObject([stateDiff]);
    const next = await sign({ to: contractAddress, value: 0n });
    nonce--; // it is not sent
    expect(await trace("rawTransaction", next, ["stateDiff"], "pending")).toMatchObject(stateDiff);
    await expect(trace("rawTransaction", next, ["stateDiff"], "latest")).rejects.toThrow("nonce too high");
    const filter = { fromBlock: "latest", toBlock: "pending" };
    expect(await trace("filter", filter)).toEqual(await trace("block", "latest"));
    await seal(id);
    expect(hashes(await trace("filter", filter))).toEqual([expect.any(String), created, counted]);
  });

  it("is what simulated blocks stand on", async () => {
    const id = await sequencer.startBuild();
    const creation = await send({ to: undefined, value: 0n, data: COUNTER_CREATION });
    const { contractAddress } = (await receiptAt(follower, creation)) as { contractAddress: Hex };
    await receiptAt(follower, await send({ to: contractAddress, value: 0n }));
    const request = { blockStateCalls: [{ calls: [{ from: RICH_ADDRESS, to: contractAddress }] }, {}] };
    const simulated = async (tag: string): Promise<Json[]> => {
      const blocks = await call<Json[]>(follower, "eth_simulateV1", request, tag);
      return blocks.map(({ number, gasUsed, stateRoot, logsBloom, calls }) => {
        const outcomes = (calls as Json[]).map(({ status, gasUsed: gas, returnData }) => ({ status, gas, returnData }));
        return { number, gasUsed, stateRoot, logsBloom, outcomes };
      });
    };
    const onParts = await simulated("pending");
    await seal(id);
    expect(await simulated("latest")).toEqual(onParts);
  });

  it("has logs, after those of sealed blocks and once each", async () => {
    const first = await sequencer.startBuild();
    const creation = await send({ to: undefined, value: 0n, data: COUNTER_CREATION });
    const { contractAddress: address } = (await receiptAt(follower, creation)) as { contractAddress: Hex };
    const logged = await send({ to: address, value: 0n });
    await receiptAt(follower, logged);
    await seal(first);
    const next = toQuantity(Number(await call<Hex>(follower, "eth_blockNumber")) + 1);
    const logs = (range: object): Promise<Json[]> => call<Json[]>(follower, "eth_getLogs", { address, ...range });
    const hashes = async (range: object): Promise<unknown[]> => (await logs(range)).map(({ transactionHash }) => transactionHash);
    const all = { fromBlock: "earliest", toBlock: "pending" };
    const parts = { fromBlock: "pending", toBlock: "pending" };
    expect(await hashes(all)).toEqual([logged]); // without a part, pending is the head
    const events: Json[] = [];
    const socket = new WebSocket(follower.wsUrl);
    socket.on("message", (data: Buffer) => events.push(JSON.parse(data.toString()) as Json));
    await vi.waitFor(() => expect(socket.readyState).toBe(1), PATIENCE);
    const kinds = [["pendingLogs", { address }], ["newFlashblockTransactions"], ["newFlashblockTransactions", true]];
    for (const [id, params] of kinds.entries())
      socket.send(JSON.stringify({ jsonrpc: "2.0", id, method: "eth_subscribe", params }));
    await vi.waitFor(() => expect(events).toHaveLength(kinds.length), PATIENCE);
    const told = (id: number): unknown[] => {
      const { result: subscription } = events.find((event) => event.id === id)!;
      const notices = events.map(({ params }) => params as { subscription: string; result: unknown } | undefined);
      return notices.filter((notice) => notice?.subscription === subscription).map((notice) => notice!.result);
    };

    const id = await sequencer.startBuild();
    const sent: Hex[] = [];
    for (let count = 0; count < 2; count++) {
      sent.push(await send({ to: address, value: 0n }));
      await receiptAt(follower, sent[count]!);
    }
    expect(await hashes(all)).toEqual([logged, ...sent]);
    expect(await hashes({ fromBlock: "latest", toBlock: "pending" })).toEqual([logged, ...sent]);
    expect(await hashes({ fromBlock: next, toBlock: "pending" })).toEqual(sent);
    expect(await hashes(parts)).toEqual(sent);
    expect(await hashes({ fromBlock: "earliest", toBlock: "latest" })).toEqual([logged]);
    await expect(logs({ fromBlock: "pending", toBlock: "latest" })).rejects.toThrow("invalid block range params");
    const [log] = await logs(parts);
    expect(log).toMatchObject({ blockNumber: next, transactionIndex: "0x1", logIndex: "0x0", removed: false });
    expect(await hashes({ blockHash: log!.blockHash })).toEqual(sent);
    const filter = await call(follower, "eth_newFilter", { address, fromBlock: "latest", toBlock: "pending" });
    expect(await call<Json[]>(follower, "eth_getFilterLogs", filter)).toHaveLength(3);
    expect(await call(follower, "eth_getFilterChanges", filter)).toEqual([]);

    await vi.waitFor(() => expect(told(2)).toHaveLength(3), PATIENCE); // with the deposit
    expect(told(0)).toMatchObject(sent.map((transactionHash, index) => ({ transactionHash, logIndex: toQuantity(index) })));
    expect(told(1).slice(1)).toEqual(sent);
    const full = told(2) as { hash: Hex; logs: Json[] }[];
    expect(full.map(({ hash }) => hash)).toEqual(told(1));
    expect(full.map(({ logs }) => logs)).toEqual([[], ...told(0).map((each) => [each])]);
    await seal(id);
    expect(await hashes(all)).toEqual([logged, ...sent]);
    expect(await call<Json[]>(follower, "eth_getFilterChanges", filter)).toHaveLength(2);
    socket.terminate();
  });

  it("answers eth_sendRawTransactionSync, and viem", async () => {
    const id = await sequencer.startBuild();
    const before = await call(sequencer, "eth_blockNumber");
    const receipt = await call<{ transactionHash: Hex }>(sequencer, "eth_sendRawTransactionSync", await sign());
    expect(await call(sequencer, "eth_blockNumber")).toBe(before);
    const client = createPublicClient({ transport: http(follower.httpUrl), pollingInterval: 20 });
    const seen = await client.waitForTransactionReceipt({ hash: receipt.transactionHash });
    expect(toQuantity(seen.blockNumber - 1n)).toBe(before);
    await seal(id);
  });

  it("is announced to subscribers of newFlashblocks", async () => {
    const socket = new WebSocket(follower.wsUrl);
    const received: { method?: string; result?: unknown; params?: { result: Json } }[] = [];
    socket.on("message", (data: Buffer) => received.push(JSON.parse(data.toString()) as Json));
    socket.on("open", () => socket.send('{"jsonrpc":"2.0","id":1,"method":"eth_subscribe","params":["newFlashblocks"]}'));
    await vi.waitFor(() => expect(received).toHaveLength(1), PATIENCE);
    const id = await sequencer.startBuild();
    await vi.waitFor(() => expect(received.length).toBeGreaterThan(1), PATIENCE);
    expect(received[1]!.params!.result).toMatchObject({ payload_id: id, metadata: { receipts: expect.any(Object) as unknown } });
    socket.terminate();
    await seal(id);
  });

  it("is streamed plain by one and compressed by the other", async () => {
    const messages = new Map<TestClient, { data: Buffer; isBinary: boolean }[]>();
    const sockets = [sequencer, follower].map((node) => {
      const socket = new WebSocket(streamOf(node));
      messages.set(node, []);
      socket.on("message", (data: Buffer, isBinary) => messages.get(node)!.push({ data, isBinary }));
      return socket;
    });
    await vi.waitFor(() => expect(sockets.map(({ readyState }) => readyState)).toEqual([1, 1]), PATIENCE);
    const id = await sequencer.startBuild();
    await vi.waitFor(() => {
      for (const list of messages.values()) expect(list.length).toBeGreaterThan(0);
    }, PATIENCE);
    const [[compressed], [plain]] = [messages.get(sequencer)!, messages.get(follower)!];
    expect([compressed!.isBinary, plain!.isBinary]).toEqual([true, false]);
    expect(brotliDecompressSync(compressed!.data).toString()).toBe(plain!.data.toString());
    expect(JSON.parse(plain!.data.toString())).toMatchObject({ payload_id: id, index: 0 });
    for (const socket of sockets) socket.terminate();
    await seal(id);
  });
});
