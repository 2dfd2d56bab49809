import { createPublicClient, createWalletClient, defineChain, http, parseEther, parseGwei, webSocket } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { COUNTER_CREATION, COUNTER_RUNTIME } from "./testing/counter.ts";
import { CHAIN_ID, RICH_ADDRESS, RICH_BALANCE, RICH_KEY, startTestClient, type TestClient } from "./testing/test-client.ts";

const chain = defineChain({
  id: CHAIN_ID,
  name: "test",
  nativeCurrency: { name: "Ether", symbol: "ETH", decimals: 18 },
  rpcUrls: { default: { http: [] } },
});
const account = privateKeyToAccount(RICH_KEY);
const OTHER = "0x00000000000000000000000000000000000000aa";

describe.each(["R", "G"] as const)("viem against profile %s", (profile) => {
  let node: TestClient;
  beforeAll(async () => {
    node = await startTestClient([`--profile=${profile}`]);
  });
  afterAll(() => node.remove());

  const publicClient = () => createPublicClient({ chain, transport: http(node.httpUrl), pollingInterval: 50, cacheTime: 0 });
  const walletClient = () => createWalletClient({ account, chain, transport: http(node.httpUrl) });

  it("reads the chain", async () => {
    const client = publicClient();
    expect(await client.getChainId()).toBe(CHAIN_ID);
    expect(await client.getBlockNumber()).toBe(0n);
    expect(await client.getBalance({ address: RICH_ADDRESS })).toBe(RICH_BALANCE);
    expect(await client.getBalance({ address: OTHER })).toBe(0n);
    expect(await client.getCode({ address: OTHER })).toBeUndefined();
    const genesis = await client.getBlock({ blockTag: "earliest" });
    expect(genesis).toMatchObject({ number: 0n, transactions: [], gasLimit: 30_000_000n, baseFeePerGas: 1_000_000_000n });
    expect((await client.getBlock({ blockHash: genesis.hash })).hash).toBe(genesis.hash);
    expect(await client.getGasPrice()).toBe(1_001_000_000n);
    expect(await client.estimateMaxPriorityFeePerGas()).toBe(1_000_000n);
  });

  it("sends ether: estimate, pending, mined, receipt", async () => {
    const client = publicClient();
    const wallet = walletClient();
    expect(await client.estimateGas({ account, to: OTHER, value: 1n })).toBe(21_000n);
    const hash = await wallet.sendTransaction({ to: OTHER, value: parseEther("1") });
    expect(await client.getTransactionCount({ address: account.address })).toBe(0);
    expect(await client.getTransactionCount({ address: account.address, blockTag: "pending" })).toBe(1);
    expect(await client.getTransaction({ hash })).toMatchObject({ blockNumber: null, from: RICH_ADDRESS, type: "eip1559" });
    const { number } = await node.buildBlock();
    const receipt = await client.waitForTransactionReceipt({ hash });
    expect(receipt).toMatchObject({
      status: "success",
      blockNumber: BigInt(number),
      gasUsed: 21_000n,
      from: RICH_ADDRESS,
      to: OTHER,
    });
    expect(await client.getBalance({ address: OTHER })).toBe(parseEther("1"));
    expect(await client.getBalance({ address: OTHER, blockNumber: 0n })).toBe(0n);
    const paid = RICH_BALANCE - parseEther("1") - (await client.getBalance({ address: RICH_ADDRESS }));
    const { l1Fee } = receipt as unknown as { l1Fee: string };
    expect(BigInt(l1Fee)).toBeGreaterThan(0n);
    expect(paid).toBe(receipt.gasUsed * receipt.effectiveGasPrice + BigInt(l1Fee));
    const block = await client.getBlock({ blockNumber: BigInt(number), includeTransactions: true });
    expect(block.transactions).toHaveLength(2);
    expect(block.transactions[1]).toMatchObject({ hash, transactionIndex: 1, blockHash: block.hash });
    expect(await client.getTransaction({ blockHash: block.hash, index: 1 })).toMatchObject({ hash });
    expect(await client.getBlockTransactionCount({ blockHash: block.hash })).toBe(2);
    expect((await node.rpc.call<{ transactionHash: string }[]>("eth_getBlockReceipts", ["latest"]))[1]!.transactionHash).toBe(hash);
  });

  it("deploys a contract, calls it, follows its logs", async () => {
    const client = publicClient();
    const wallet = walletClient();
    const deployment = await wallet.sendTransaction({ data: COUNTER_CREATION });
    await node.buildBlock();
    const { contractAddress } = await client.getTransactionReceipt({ hash: deployment });
    const address = contractAddress!;
    expect(await client.getCode({ address })).toBe(COUNTER_RUNTIME);
    const read = () => client.call({ to: address, data: "0x00" });
    const word = (value: number) => `0x${value.toString(16).padStart(64, "0")}` as const;
    expect((await read()).data).toBe(word(0));

    const first = await wallet.sendTransaction({ to: address });
    const second = await wallet.sendTransaction({ to: address });
    const { number } = await node.buildBlock();
    expect((await read()).data).toBe(word(2));
    expect(await client.getStorageAt({ address, slot: "0x0" })).toBe(word(2));
    expect((await client.call({ to: address, data: "0x00", blockNumber: BigInt(number - 1) })).data).toBe(word(0));
    expect((await client.getTransactionReceipt({ hash: second })).logs[0]).toMatchObject({ logIndex: 1, transactionIndex: 2 });

    const logs = await client.getLogs({ address, fromBlock: 0n, toBlock: "latest" });
    expect(logs.map(({ topics, data, transactionHash }) => [topics[0], data, transactionHash])).toEqual([
      [word(1), word(1), first],
      [word(2), word(2), second],
    ]);
    const raw = (filter: object) => node.rpc.call<{ transactionHash: string }[]>("eth_getLogs", [filter]);
    expect(await raw({ fromBlock: "0x0", topics: [[word(2)]] })).toMatchObject([{ transactionHash: second, removed: false }]);
    expect(await raw({ fromBlock: "0x0", address: OTHER })).toEqual([]);
    expect(await raw({ blockHash: (await client.getBlock()).hash })).toHaveLength(2);

    const proof = await client.getProof({ address, storageKeys: [word(0)] });
    expect(proof.storageProof[0]).toMatchObject({ key: word(0), value: 2n });
    expect(proof.accountProof.length).toBeGreaterThan(0);

    await expect(client.call({ to: address, data: "0x01" })).rejects.toThrow(/execution reverted: nope/);
    await expect(client.estimateGas({ account, to: address, data: "0x01" })).rejects.toThrow(/nope/);
    const estimate = await client.estimateGas({ account, to: address });
    const { gasUsed } = await client.getTransactionReceipt({ hash: second });
    expect(estimate).toBeGreaterThanOrEqual(gasUsed);
    expect(Number(estimate)).toBeLessThan(Number(gasUsed) * 1.1);
    const overridden = await client.call({
      to: address,
      data: "0x00",
      stateOverride: [{ address, stateDiff: [{ slot: word(0), value: word(77) }] }],
    });
    expect(overridden.data).toBe(word(77));
  });

  it("traces calls and transactions", async () => {
    const { rpc } = node;
    const wallet = walletClient();
    const client = publicClient();
    const options = { tracer: "callTracer", tracerConfig: { withLog: true } };
    const deployment = await wallet.sendTransaction({ data: COUNTER_CREATION });
    await node.buildBlock();
    const { contractAddress, gasUsed } = await client.getTransactionReceipt({ hash: deployment });
    const created = await rpc.call<Record<string, unknown>>("debug_traceTransaction", [deployment, options]);
    expect(created).toMatchObject({
      type: "CREATE",
      from: RICH_ADDRESS,
      to: contractAddress,
      input: COUNTER_CREATION,
      output: COUNTER_RUNTIME,
    });
    expect(BigInt(created.gasUsed as string)).toBe(gasUsed);
    expect(created).not.toHaveProperty("error");

    const first = await wallet.sendTransaction({ to: contractAddress });
    const second = await wallet.sendTransaction({ to: contractAddress });
    await node.buildBlock();
    const word = (value: number) => `0x${value.toString(16).padStart(64, "0")}`;
    expect(await rpc.call("debug_traceTransaction", [second, options])).toMatchObject({
      type: "CALL",
      to: contractAddress,
      value: "0x0",
      logs: [{ address: contractAddress, topics: [word(2)], data: word(2), position: "0x0", index: "0x0" }],
    });
    const block = await rpc.call<{ txHash: string; result: { logs?: unknown[] } }[]>("debug_traceBlockByNumber", [
      "latest",
      options,
    ]);
    expect(block.map(({ txHash }) => txHash).slice(1)).toEqual([first, second]);
    expect(block[0]!.result).toMatchObject({ type: "CALL", from: "0xdeaddeaddeaddeaddeaddeaddeaddeaddead0001" });

    // A contract that calls the counter: CALL(gas, counter, 0, 0, 0, 0, 0).
    const code = `0x6000600060006000600073${contractAddress!.slice(2)}5af100`;
    const overrides = { stateOverrides: { [OTHER]: { code } } };
    expect(await rpc.call("debug_traceCall", [{ to: OTHER }, "latest", { ...options, ...overrides }])).toMatchObject({
      type: "CALL",
      to: OTHER,
      calls: [{ type: "CALL", from: OTHER, to: contractAddress, value: "0x0", logs: [{ topics: [word(3)] }] }],
    });
    const only = { tracer: "callTracer", tracerConfig: { onlyTopCall: true } };
    expect(await rpc.call("debug_traceCall", [{ to: OTHER }, "latest", { ...only, ...overrides }])).not.toHaveProperty("calls");
    expect(await rpc.call("debug_traceCall", [{ to: contractAddress, data: "0x01" }, "latest", options])).toMatchObject({
      error: "execution reverted",
      revertReason: "nope",
    });
    await expect(rpc.call("debug_traceTransaction", [word(1), options])).rejects.toMatchObject({
      message: "transaction not found",
    });
    await expect(rpc.call("debug_traceCall", [{ to: OTHER }, "latest", { tracer: "{}" }])).rejects.toMatchObject({
      code: profile === "R" ? -32603 : -32000,
    });

    const list = await rpc.call<{ accessList: unknown; gasUsed: string }>("eth_createAccessList", [
      { from: RICH_ADDRESS, to: OTHER },
      "latest",
      { [OTHER]: { code } },
    ]);
    expect(list).toMatchObject({ accessList: [{ address: contractAddress, storageKeys: [word(0)] }] });
    expect(list).not.toHaveProperty("error");
    expect(await rpc.call("eth_createAccessList", [{ from: RICH_ADDRESS, to: contractAddress, data: "0x01" }])).toMatchObject({
      accessList: [],
      error: profile === "R" ? "execution reverted: nope" : "execution reverted",
    });
  });

  it("answers fee history", async () => {
    const history = await publicClient().getFeeHistory({ blockCount: 3, rewardPercentiles: [10, 50, 90] });
    expect(history.baseFeePerGas).toHaveLength(4);
    expect(history.gasUsedRatio).toHaveLength(3);
    expect(history.reward).toHaveLength(3);
    expect(history.reward![2]).toHaveLength(3);
    expect(history.oldestBlock).toBe((await publicClient().getBlockNumber()) - 2n);
  });

  it("watches blocks, logs and pending transactions over WebSocket", async () => {
    const transport = webSocket(node.wsUrl, { retryCount: 0, reconnect: false });
    const client = createPublicClient({ chain, transport });
    const wallet = createWalletClient({ account, chain, transport });
    const blocks: bigint[] = [];
    const pending: string[] = [];
    const stops = [
      client.watchBlockNumber({ onBlockNumber: (number) => blocks.push(number) }),
      client.watchPendingTransactions({ onTransactions: (hashes) => pending.push(...hashes) }),
    ];
    expect(await client.getChainId()).toBe(CHAIN_ID);
    await new Promise((resolve) => setTimeout(resolve, 100));
    const hash = await wallet.sendTransaction({ to: OTHER, value: 1n });
    const { number } = await node.buildBlock();
    await expect.poll(() => blocks.at(-1)).toBe(BigInt(number));
    await expect.poll(() => pending).toContain(hash);
    for (const stop of stops) stop();
    (await client.transport.getRpcClient()).close();
  });

  it("polls filters", async () => {
    const { rpc } = node;
    const blockFilter = await rpc.call("eth_newBlockFilter");
    const pendingFilter = await rpc.call("eth_newPendingTransactionFilter");
    const logFilter = await rpc.call("eth_newFilter", [{ fromBlock: "0x0" }]);
    const hash = await walletClient().sendTransaction({ to: OTHER, value: 1n });
    const block = await node.buildBlock();
    expect(await rpc.call("eth_getFilterChanges", [blockFilter])).toEqual([block.hash]);
    expect(await rpc.call("eth_getFilterChanges", [blockFilter])).toEqual([]);
    expect(await rpc.call("eth_getFilterChanges", [pendingFilter])).toEqual([hash]);
    expect(await rpc.call("eth_getFilterChanges", [logFilter])).toEqual([]);
    expect((await rpc.call<unknown[]>("eth_getFilterLogs", [logFilter])).length).toBe(4);
    // A query must not go beyond the head, but a filter may: it waits.
    const ahead = { fromBlock: "0x0", toBlock: "0xffff" };
    await expect(rpc.call("eth_getLogs", [ahead])).rejects.toMatchObject({ code: -32602 });
    const waiting = await rpc.call("eth_newFilter", [ahead]);
    expect((await rpc.call<unknown[]>("eth_getFilterLogs", [waiting])).length).toBe(4);
    const later = await rpc.call("eth_newFilter", [{ fromBlock: "0xfff0", toBlock: "0xffff" }]);
    expect(await rpc.call("eth_getFilterLogs", [later])).toEqual([]);
    expect(await rpc.call("eth_uninstallFilter", [logFilter])).toBe(true);
    expect(await rpc.call("eth_uninstallFilter", [logFilter])).toBe(false);
    await expect(rpc.call("eth_getFilterChanges", [logFilter])).rejects.toMatchObject({ message: "filter not found" });
  });

  it("lists the pool", async () => {
    const { rpc } = node;
    const wallet = walletClient();
    const client = publicClient();
    const nonce = await client.getTransactionCount({ address: RICH_ADDRESS });
    await wallet.sendTransaction({ to: OTHER, value: 1n, nonce });
    await wallet.sendTransaction({ to: OTHER, value: 1n, nonce: nonce + 2 });
    expect(await rpc.call("txpool_status")).toEqual({ pending: "0x1", queued: "0x1" });
    const key = profile === "R" ? RICH_ADDRESS : account.address;
    expect(await rpc.call("txpool_content")).toMatchObject({
      pending: { [key]: { [nonce]: { nonce: `0x${nonce.toString(16)}`, blockHash: null } } },
      queued: { [key]: { [nonce + 2]: { from: RICH_ADDRESS } } },
    });
    const from = await rpc.call<{ pending: object; queued: object }>("txpool_contentFrom", [RICH_ADDRESS]);
    expect([Object.keys(from.pending), Object.keys(from.queued)]).toEqual([[String(nonce)], [String(nonce + 2)]]);
    const inspected = await rpc.call<{ pending: Record<string, Record<string, string>> }>("txpool_inspect");
    expect(inspected.pending[key]![nonce]).toMatch(/^0x0{38}aa: 1 wei \+ 21000 gas × \d+ wei$/i);
    await node.buildBlock();
    expect(await rpc.call("txpool_status")).toEqual({ pending: "0x0", queued: "0x1" });
  });

  it("gives raw encodings", async () => {
    const { rpc } = node;
    const block = await publicClient().getBlock({ includeTransactions: true });
    const raw = await rpc.call<string>("debug_getRawBlock", ["latest"]);
    const header = await rpc.call<string>("debug_getRawHeader", ["latest"]);
    expect(raw).toContain(header.slice(2));
    expect(await rpc.call<string[]>("debug_getRawReceipts", [block.hash])).toHaveLength(block.transactions.length);
    const rawTransaction = await rpc.call<string>("debug_getRawTransaction", [block.transactions[0]!.hash]);
    expect(rawTransaction).toMatch(/^0x7e/);
    expect(raw).toContain(rawTransaction.slice(2));
  });

  it("refuses transactions in the profile's words", async () => {
    const client = publicClient();
    const nonce = await client.getTransactionCount({ address: RICH_ADDRESS });
    const sign = (fields: object) =>
      account.signTransaction({
        chainId: CHAIN_ID,
        nonce,
        gas: 21_000n,
        to: OTHER,
        maxFeePerGas: parseGwei("2"),
        type: "eip1559",
        ...fields,
      });
    const refusal = (raw: string) =>
      node.rpc.call("eth_sendRawTransaction", [raw]).then(
        () => undefined,
        // Geth's text for what cannot be decoded is in the data
        ({ code, message, data }: { code: number; message: string; data?: string }) => [
          code,
          profile === "G" && code === -32602 ? data : message,
        ],
      );
    const expected: [string, string | RegExp, string | RegExp, number, number][] = [
      ["0x", "empty transaction data", "typed transaction too short", -32602, -32602],
      ["0xdeadbeef", "failed to decode signed transaction", "rlp: value size exceeds available input length", -32602, -32602],
      ["0x02", "failed to decode signed transaction", "typed transaction too short", -32602, -32602],
      ["0xc0", "failed to decode signed transaction", "rlp: too few elements for types.LegacyTx", -32602, -32602],
      ["0x02c0", "failed to decode signed transaction", "rlp: too few elements for types.DynamicFeeTx", -32602, -32602],
      ["0x0480", "failed to decode signed transaction", "rlp: expected input list for types.SetCodeTx", -32602, -32602],
      ["0x02c000", "failed to decode signed transaction", "rlp: input contains more than one value", -32602, -32602],
      ["0x7e01", "failed to decode signed transaction", "transaction type not supported", -32602, -32000],
      ["0x7dc6012ac3c20307", "failed to decode signed transaction", "transaction type not supported", -32602, -32000],
      ["0x03c0", "failed to decode signed transaction", "transaction type not supported", -32602, -32000],
      [
        await sign({ nonce: 0 }),
        `nonce too low: next nonce ${nonce}, tx nonce 0`,
        `nonce too low: next nonce ${nonce}, tx nonce 0`,
        -32000,
        -32000,
      ],
      [
        await sign({ gas: 20_000n }),
        "intrinsic gas too low",
        "intrinsic gas too low: gas 20000, minimum needed 21000",
        -32000,
        -32000,
      ],
      [await sign({ gas: 30_000_000n }), "exceeds block gas limit", "exceeds block gas limit", -32000, -32000],
      [
        await sign({ value: 10n ** 24n }),
        /^insufficient funds for gas \* price \+ value: have \d+ want \d+$/,
        /: balance \d+, tx cost \d+, overshot \d+$/,
        -32003,
        -32000,
      ],
      [
        await sign({ chainId: 1 }),
        "invalid chain ID",
        "invalid sender: invalid chain id for signer: have 1 want 901",
        -32000,
        -32000,
      ],
      [
        await sign({ gas: 1_000_000n, maxFeePerGas: parseGwei("2000000") }),
        "tx fee (2000000000000000000000 wei) exceeds the configured cap (1000000000000000000 wei)",
        "tx fee (2000.00 ether) exceeds the configured cap (1.00 ether)",
        -32000,
        -32000,
      ],
    ];
    for (const [raw, r, g, codeR, codeG] of expected) {
      const [code, message] = (await refusal(raw)) ?? [];
      expect(code, raw).toBe(profile === "R" ? codeR : codeG);
      const text = profile === "R" ? r : g;
      if (typeof text === "string") expect(message).toBe(text);
      else expect(message).toMatch(text);
    }
    const good = await sign({ value: 3n });
    expect(await refusal(good)).toBeUndefined();
    expect(await refusal(good)).toEqual([-32000, "already known"]);
    expect(await refusal(await sign({ value: 4n }))).toEqual([-32000, "replacement transaction underpriced"]);
    expect(await refusal(await sign({ value: 4n, maxFeePerGas: parseGwei("2.2"), maxPriorityFeePerGas: 1n }))).toBeUndefined();
    await node.buildBlock();
  });

  it("differs where the profiles differ", async () => {
    const { rpc } = node;
    const outcome = (method: string, params: unknown[] = []) =>
      rpc.call(method, params).catch(({ code, message }: { code: number; message: string }) => ({ code, message }));
    const missing = { code: -32601, message: "Method not found" };
    const head = await rpc.call("eth_blockNumber");
    if (profile === "R") {
      expect(await outcome("eth_syncing")).toMatchObject({ currentBlock: head, highestBlock: head, startingBlock: "0x0" });
      expect((await outcome("eth_syncing")) as { stages: object[] }).toMatchObject({
        stages: expect.arrayContaining([{ name: "Finish", block: head }]),
      });
      expect(await outcome("rpc_modules")).toEqual(missing);
      expect(await outcome("admin_nodeInfo")).toEqual(missing);
      expect(await outcome("eth_getBalance", [OTHER, "0xffff"])).toEqual({ code: -32001, message: "block not found: 0xffff" });
      expect(await outcome("eth_getBalance", ["0x12", "latest"])).toMatchObject({ code: -32602, message: "Invalid params" });
      expect(await rpc.call("eth_getBlockByNumber", ["latest", false])).not.toHaveProperty("totalDifficulty");
    } else {
      expect(await outcome("eth_syncing")).toBe(false);
      expect(await outcome("rpc_modules")).toMatchObject({ eth: "1.0", rpc: "1.0", txpool: "1.0" });
      expect(await outcome("admin_nodeInfo")).toEqual({
        code: -32601,
        message: "the method admin_nodeInfo does not exist/is not available",
      });
      expect(await outcome("eth_getBalance", [OTHER, "0xffff"])).toEqual({ code: -32000, message: "header not found" });
      expect(await outcome("eth_getBalance", ["0x12", "latest"])).toMatchObject({
        code: -32602,
        message: 'invalid argument 0: address: expected a 20-byte address, got "0x12"',
      });
      expect(await rpc.call("eth_getBlockByNumber", ["latest", false])).toHaveProperty("totalDifficulty", "0x0");
    }
    expect(await outcome("web3_clientVersion")).toMatch(/^rengine\/v/);
    expect(await outcome("net_version")).toBe("901");
    expect(await outcome("web3_sha3", ["0x"])).toBe("0xc5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470");
    for (const method of ["eth_getTransactionByHash", "eth_getTransactionReceipt", "eth_getBlockByHash"]) {
      expect(await outcome(method, [`0x${"ff".repeat(32)}`, ...(method === "eth_getBlockByHash" ? [false] : [])])).toBeNull();
    }
    expect(await outcome("eth_getBlockByNumber", ["0xffff", false])).toBeNull();
    expect(await outcome("miner_setMaxDASize", ["0x0", "0x0"])).toBe(true);
  });
});
