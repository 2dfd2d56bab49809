import { executeStateless, newEngine, parseBlockFile } from "@rnode/chain";
import { assemble, JOVIAN_CONFIG } from "@rnode/eth-api/testing";
import type { RpcClient } from "@rnode/jsonrpc";
import { bytesToHex, type Hex, hexToBytes, toQuantity } from "@rnode/primitives";
import { decodeBlock, encodeTransaction, PREDEPLOYS, postExecTransaction } from "@rnode/protocol";
import { createPublicClient, createWalletClient, defineChain, http } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { holdingToDescription } from "../testing/described-answers.ts";
import {
  CHAIN_ID,
  GENESIS,
  GENESIS_TIME_SEC,
  RICH_ADDRESS,
  RICH_BALANCE,
  RICH_KEY,
  startTestClient,
  type TestClient,
} from "../testing/test-client.ts";

// docs/protocol/04-rpc.md#post-exec-transactions, docs/protocol/04-rpc.md#sequencer-defined-metering

const config = { ...JOVIAN_CONFIG, karstTime: 0, lagoonTime: 0 };
const L1_BLOCK = bytesToHex(PREDEPLOYS.l1Block);
const word = (value: bigint): Hex => `0x${value.toString(16).padStart(64, "0")}`;
/** Operator fee: scalar 3, constant 70. */
const SLOT_8 = (3n << 64n) | 70n;
const alloc = {
  [L1_BLOCK]: {
    ...GENESIS.alloc[L1_BLOCK]!,
    storage: { ...(GENESIS.alloc[L1_BLOCK] as { storage: object }).storage, [word(8n)]: word(SLOT_8) },
  },
};
const chain = defineChain({
  id: CHAIN_ID,
  name: "test",
  nativeCurrency: { name: "Ether", symbol: "ETH", decimals: 18 },
  rpcUrls: { default: { http: [] } },
});
const account = privateKeyToAccount(RICH_KEY);
const FEES = { maxFeePerGas: 10n ** 10n, maxPriorityFeePerGas: 10n ** 9n };
const ZERO_ADDRESS: Hex = `0x${"00".repeat(20)}`;
const BOB: Hex = `0x${"b0".repeat(20)}`;
const FIRST_REFUND = 20_000n;
const SECOND_REFUND = 777n;

type Receipt = Record<string, Hex> & { logs: unknown[] };

const start = (extra: readonly string[]): Promise<TestClient> =>
  startTestClient(["--http.api=eth,debug,trace,txpool,admin", ...extra], undefined, {
    config,
    alloc,
    l1: { operatorFeeScalar: 3, operatorFeeConstant: 70n },
  });

describe.each(["R", "G"] as const)("a block with gas refunds, profile %s", (profile) => {
  let node: TestClient;
  let rpc: <T>(method: string, ...params: unknown[]) => Promise<T>;
  let signed: Hex[];
  let postExec: Hex;
  let block: { hash: Hex; number: number };
  let hashes: Hex[];

  beforeAll(async () => {
    node = await start([`--profile=${profile}`]);
    const described: RpcClient = holdingToDescription(node.rpc);
    rpc = <T>(method: string, ...params: unknown[]) => described.call<T>(method, params);
    const wallet = createWalletClient({ account, chain, transport: http(node.httpUrl) });
    const sign = (nonce: number, to: Hex | null, value: bigint, data: Hex) =>
      wallet.signTransaction({ to, value, data, gas: 200_000n, nonce, type: "eip1559", ...FEES });
    signed = [
      await sign(0, BOB, 5n, "0x"),
      // stores the balance of its caller, which the first refund has increased
      await sign(1, null, 0n, bytesToHex(assemble("CALLER BALANCE 0 SSTORE 0 0 LOG0 STOP"))),
    ];
    postExec = bytesToHex(
      encodeTransaction(
        postExecTransaction({
          blockNumber: 1n,
          refunds: [
            { index: 1n, gas: FIRST_REFUND },
            { index: 2n, gas: SECOND_REFUND },
          ],
        }),
      ),
    );
    block = await node.buildBlock({ transactions: [...signed, postExec], noTxPool: true });
    hashes = (await rpc<{ transactions: Hex[] }>("eth_getBlockByNumber", "latest", false)).transactions;
  });
  afterAll(() => node.remove());

  const receiptOf = (index: number): Promise<Receipt> => rpc<Receipt>("eth_getTransactionReceipt", hashes[index]);

  it("shows the post-exec transaction", async () => {
    const { baseFeePerGas, transactions, timestamp } = await rpc<{ baseFeePerGas: Hex; timestamp: Hex; transactions: object[] }>(
      "eth_getBlockByNumber",
      "latest",
      true,
    );
    const shown = {
      type: "0x7d",
      hash: hashes[3],
      blockHash: block.hash,
      blockNumber: "0x1",
      blockTimestamp: timestamp,
      transactionIndex: "0x3",
      from: ZERO_ADDRESS,
      gas: "0x0",
      value: "0x0",
      input: `0x${postExec.slice(4)}`,
      ...(profile === "R"
        ? { gasPrice: baseFeePerGas }
        : { gasPrice: "0x0", nonce: "0x0", to: null, v: "0x0", r: "0x0", s: "0x0" }),
    };
    expect(transactions[3]).toEqual(shown);
    expect(await rpc("eth_getTransactionByHash", hashes[3])).toEqual(shown);
    expect(await rpc("eth_getTransactionByBlockNumberAndIndex", "0x1", "0x3")).toEqual(shown);
    expect(await rpc("eth_getRawTransactionByHash", hashes[3])).toBe(postExec);
    const { transaction } = await node.engine
      .call<{ transactions: Hex[] }[]>("engine_getPayloadBodiesByHashV1", [[block.hash]])
      .then(([body]) => ({ transaction: body!.transactions[3] }));
    expect(transaction).toBe(postExec);
  });

  it("has receipts with the refunds, alone and together", async () => {
    const receipts = await rpc<Receipt[]>("eth_getBlockReceipts", "latest");
    for (const [index, receipt] of receipts.entries()) expect(await receiptOf(index)).toEqual(receipt);
    expect(receipts.map(({ opGasRefund }) => opGasRefund)).toEqual([
      undefined,
      toQuantity(FIRST_REFUND),
      toQuantity(SECOND_REFUND),
      undefined,
    ]);
    expect(receipts[1]!.gasUsed).toBe(toQuantity(21_000n - FIRST_REFUND));
    const { gasUsed, receiptsRoot } = await rpc<Record<string, Hex>>("eth_getBlockByNumber", "latest", false);
    expect(receipts[3]).toMatchObject({
      type: "0x7d",
      status: "0x1",
      gasUsed: "0x0",
      cumulativeGasUsed: gasUsed,
      effectiveGasPrice: "0x0",
      logs: [],
      from: ZERO_ADDRESS,
      to: profile === "R" ? ZERO_ADDRESS : null,
      contractAddress: null,
      blobGasUsed: "0x0",
    });
    expect(receiptsRoot).toMatch(/^0x/);
    expect(receipts.reduce((sum, receipt) => sum + Number(receipt.gasUsed), 0)).toBe(Number(gasUsed));
  });

  /** What a transaction costs its sender according to its receipt. */
  const costOf = ({ gasUsed, effectiveGasPrice, l1Fee }: Receipt, value: bigint): bigint =>
    BigInt(gasUsed!) * BigInt(effectiveGasPrice!) + BigInt(l1Fee!) + value + BigInt(gasUsed!) * 300n + 70n;

  it("takes from the sender what the receipts say, already before the next transaction", async () => {
    const [first, second] = [await receiptOf(1), await receiptOf(2)];
    const afterFirst = RICH_BALANCE - costOf(first, 5n);
    const balance = await rpc<Hex>("eth_getBalance", RICH_ADDRESS, "latest");
    expect(BigInt(balance)).toBe(afterFirst - costOf(second, 0n));
    // the second transaction ran while its gas limit was reserved: 200,000 at its price, the L1 fee and the operator's fee of it
    const reserved = 200_000n * BigInt(second.effectiveGasPrice!) + BigInt(second.l1Fee!) + 200_000n * 300n + 70n;
    const created = second.contractAddress as Hex;
    expect(BigInt(await rpc<Hex>("eth_getStorageAt", created, "0x0", "latest"))).toBe(afterFirst - reserved);
    type Prestate = Record<Hex, { balance: Hex }>;
    const before = await rpc<Prestate>("debug_traceTransaction", hashes[2], { tracer: "prestateTracer" });
    expect(BigInt(before[RICH_ADDRESS]!.balance)).toBe(afterFirst);
  });

  it("traces each transaction with the gas of its receipt, and the post-exec transaction as a call that does nothing", async () => {
    const call = { from: ZERO_ADDRESS, to: ZERO_ADDRESS, gas: "0x0", gasUsed: "0x0", value: "0x0" };
    const calls = await rpc<{ txHash: Hex; result: Record<string, Hex> }[]>("debug_traceBlockByNumber", "0x1", {
      tracer: "callTracer",
    });
    const gasUsed = await Promise.all(hashes.map(async (_, index) => (await receiptOf(index)).gasUsed));
    expect(calls.map(({ result }) => result.gasUsed)).toEqual(gasUsed);
    expect(calls[3]!.result).toEqual({ ...call, type: "CALL", input: `0x${postExec.slice(4)}` });
    const rlp = await rpc<Hex>("debug_getRawBlock", "0x1");
    expect(await rpc("debug_traceBlock", rlp, { tracer: "callTracer" })).toEqual(calls);
    expect(await rpc("debug_traceTransaction", hashes[3])).toEqual({ gas: 0, failed: false, returnValue: "0x", structLogs: [] });
    for (const tracer of ["prestateTracer", "4byteTracer"])
      expect(await rpc("debug_traceTransaction", hashes[3], { tracer })).toEqual({});
    const diff = { tracer: "prestateTracer", tracerConfig: { diffMode: true } };
    expect(await rpc("debug_traceTransaction", hashes[3], diff)).toEqual({ pre: {}, post: {} });
    expect(await rpc<object[]>("debug_traceTransaction", hashes[3], { tracer: "flatCallTracer" })).toHaveLength(1);
    await rpc("debug_traceTransaction", hashes[3], { tracer: "muxTracer", tracerConfig: { callTracer: {}, "4byteTracer": {} } });
    const afterAll = await rpc<Hex[]>("debug_intermediateRoots", block.hash);
    expect(afterAll).toHaveLength(4);
    expect(afterAll[3]).toBe((await rpc<{ stateRoot: Hex }>("eth_getBlockByNumber", "latest", false)).stateRoot);
    if (profile === "G") return;
    const placed = await rpc<Record<string, unknown>[]>("trace_block", "0x1");
    expect(placed.filter(({ transactionPosition }) => transactionPosition === 3)).toEqual(
      await rpc("trace_transaction", hashes[3]),
    );
    expect(placed.at(-1)).toMatchObject({
      type: "call",
      action: { callType: "call", from: ZERO_ADDRESS, to: ZERO_ADDRESS, gas: "0x0" },
      result: { gasUsed: "0x0", output: "0x" },
    });
    const replays = await rpc<{ stateDiff: object }[]>("trace_replayBlockTransactions", "0x1", ["trace", "vmTrace", "stateDiff"]);
    expect(replays[3]!.stateDiff).toEqual({});
    await rpc("trace_blockOpcodeGas", "0x1");
    await rpc("trace_filter", { fromBlock: "0x1", toBlock: "0x1" });
  });

  it("has a witness that executes it, and attributes that build it", async () => {
    const rlp = await rpc<Hex>("debug_getRawBlock", "0x1");
    const { header, transactions } = decodeBlock(hexToBytes(rlp));
    const attributes = {
      timestamp: toQuantity(header.timestamp),
      prevRandao: bytesToHex(header.mixHash),
      suggestedFeeRecipient: bytesToHex(header.beneficiary),
      withdrawals: [],
      parentBeaconBlockRoot: bytesToHex(header.parentBeaconBlockRoot!),
      transactions: transactions.map((tx) => bytesToHex(encodeTransaction(tx))),
      noTxPool: true,
      gasLimit: toQuantity(header.gasLimit),
      eip1559Params: "0x000000fa00000006",
      minBaseFee: 0,
    };
    const witness = await rpc<Record<string, unknown>>("debug_executionWitness", "0x1");
    if (profile === "G") return;
    const forks = ["regolith", "canyon", "ecotone", "fjord", "granite", "holocene", "isthmus", "jovian", "karst", "lagoon"];
    const file = {
      chain: {
        chainId: CHAIN_ID,
        l1ChainId: 900,
        blockTime: 2,
        genesisTime: GENESIS_TIME_SEC,
        eip1559: { elasticity: 6, denominator: 50, denominatorCanyon: 250 },
        forkTimes: Object.fromEntries(forks.map((fork) => [fork, 0])),
      },
      parentHeaderRlp: await rpc<Hex>("debug_getRawHeader", "0x0"),
      payloadAttributes: attributes,
      witness: { ...witness, keys: [] },
      expectedBlockHash: block.hash,
    };
    const { executed, mismatches } = executeStateless(parseBlockFile(file), { engine: newEngine() });
    expect([bytesToHex(executed.hash), mismatches]).toEqual([block.hash, []]);
    const parentHash = bytesToHex(header.parentHash);
    expect(await rpc("debug_executePayload", parentHash, attributes)).toEqual(witness);
    await expect(rpc("debug_executePayload", parentHash, { ...attributes, noTxPool: false })).rejects.toMatchObject({
      code: -32602,
    });
  });

  it("does not disturb fees, logs, filters and counts", async () => {
    const history = await rpc<{ reward: Hex[][] }>("eth_feeHistory", "0x2", "latest", [0, 50, 100]);
    expect(history.reward[1]!.at(-1)).toBe(toQuantity(FEES.maxPriorityFeePerGas));
    await rpc("eth_maxPriorityFeePerGas");
    await rpc("eth_gasPrice");
    expect(await rpc<object[]>("eth_getLogs", { fromBlock: "0x1" })).toHaveLength(1);
    expect(await rpc("eth_getBlockTransactionCountByNumber", "0x1")).toBe("0x4");
    expect(await rpc<Hex[]>("debug_getRawReceipts", "0x1")).toHaveLength(4);
    expect(await rpc<Hex>("eth_getTransactionCount", ZERO_ADDRESS, "latest")).toBe("0x0");
    if (profile === "R") expect(await rpc("eth_getTransactionBySenderAndNonce", ZERO_ADDRESS, "0x0")).toBeNull();
  });

  it("is read by viem", async () => {
    const client = createPublicClient({ chain, transport: http(node.httpUrl) });
    const { transactions } = await client.getBlock({ includeTransactions: true });
    expect(transactions.map(({ typeHex }) => typeHex)).toEqual(["0x7e", "0x2", "0x2", "0x7d"]);
    expect(await client.getTransactionReceipt({ hash: hashes[3]! })).toMatchObject({ gasUsed: 0n, status: "success" });
  });

  it("leaves without its post-exec transaction going to the pool", async () => {
    const parent = await rpc<{ hash: Hex; timestamp: Hex }>("eth_getBlockByNumber", "0x0", false);
    await node.buildBlock({ parent: { hash: parent.hash, timestampSec: Number(parent.timestamp) }, noTxPool: true });
    expect(await rpc("eth_getTransactionByHash", hashes[3])).toBeNull();
    expect(await rpc("txpool_status")).toEqual({ pending: "0x2", queued: "0x0" });
    expect(await rpc("eth_getBalance", RICH_ADDRESS, "latest")).toBe(toQuantity(RICH_BALANCE));
    await expect(rpc("eth_sendRawTransaction", postExec)).rejects.toMatchObject({ code: profile === "R" ? -32602 : -32000 });
  });
});

describe("the methods of sequencer-defined metering", () => {
  it("say what the operator and the chain allow", async () => {
    const activation = GENESIS_TIME_SEC + 100;
    const started = async (...extra: string[]) => {
      const node = await startTestClient(["--http.api=eth,admin,debug", ...extra], undefined, {
        config: { ...JOVIAN_CONFIG, karstTime: 0, lagoonTime: activation },
      });
      onTestFinished(() => node.remove());
      const described = holdingToDescription(node.rpc);
      return (method: string, ...params: unknown[]) => described.call(method, params);
    };
    const rpc = await started();
    const status = { operatorSdmOptIn: false, protocolActive: true, effective: false, activationTime: activation };
    expect(await rpc("admin_sdmStatus")).toEqual(status); // now is long after the activation
    expect(await rpc("admin_sdmStatus", null)).toEqual(status);
    expect(await rpc("admin_sdmStatus", activation)).toEqual(status);
    expect(await rpc("admin_sdmStatus", activation - 1)).toEqual({ ...status, protocolActive: false });
    expect(await rpc("admin_setOperatorSdmOptIn", true)).toBeNull();
    expect(await rpc("admin_sdmStatus", activation)).toEqual({ ...status, operatorSdmOptIn: true, effective: true });
    expect(await rpc("admin_sdmStatus", activation - 1)).toEqual({ ...status, operatorSdmOptIn: true, protocolActive: false });
    expect(await rpc("admin_setOperatorSdmOptIn", false)).toBeNull();
    expect(await rpc("admin_sdmStatus", activation)).toEqual(status);
    await expect(rpc("admin_setOperatorSdmOptIn", 1)).rejects.toMatchObject({ code: -32602 });
    await expect(rpc("admin_setOperatorSdmOptIn")).rejects.toMatchObject({ code: -32602 });

    for (const given of [
      ["--rollup.operator-sdm-opt-in"],
      ["--rollup.operator-sdm-opt-in", "true"],
      ["--rollup.operator-sdm-opt-in=true"],
    ]) {
      expect(await (await started(...given))("admin_sdmStatus")).toMatchObject({ operatorSdmOptIn: true, effective: true });
    }
    expect(await (await started("--rollup.operator-sdm-opt-in", "false"))("admin_sdmStatus")).toMatchObject({ effective: false });
    const geth = await started("--profile=G");
    await expect(geth("admin_sdmStatus")).rejects.toMatchObject({ code: -32601 });
    await expect(geth("debug_replaySDMBlock", "latest")).rejects.toMatchObject({ code: -32601 });
  });

  it("know no activation on a chain without the fork", async () => {
    const node = await startTestClient(["--http.api=admin"]);
    onTestFinished(() => node.remove());
    expect(await node.rpc.call("admin_sdmStatus", [2 ** 52])).toEqual({
      operatorSdmOptIn: false,
      protocolActive: false,
      effective: false,
      activationTime: null,
    });
  });

  it("never make the client refund gas", async () => {
    const node = await start(["--rollup.operator-sdm-opt-in"]);
    onTestFinished(() => node.remove());
    const raw = await account.signTransaction({ chainId: CHAIN_ID, type: "eip1559", to: BOB, gas: 21_000n, nonce: 0, ...FEES });
    await node.rpc.call("eth_sendRawTransaction", [raw]);
    const { payload } = await node.buildBlock();
    expect(payload.executionPayload.transactions.map((tx) => tx.slice(0, 4))).toEqual(["0x7e", "0x02"]);
  });

  it("replay a block without its refunds", async () => {
    const node = await start([]);
    onTestFinished(() => node.remove());
    const described = holdingToDescription(node.rpc);
    const replay = (...params: unknown[]) => described.call<Record<string, unknown>>("debug_replaySDMBlock", params);
    const sign = (nonce: number, to: Hex | undefined, data: Hex = "0x") =>
      account.signTransaction({ chainId: CHAIN_ID, type: "eip1559", to, data, gas: 200_000n, nonce, ...FEES });
    const first = await node.buildBlock({ transactions: [await sign(0, BOB)], noTxPool: true });
    const transactions = [await sign(1, BOB), await sign(2, undefined, "0x00")];
    const entries = [
      { index: 1, gas_refund: 21_000 },
      { index: 2, gas_refund: 9 },
    ];
    const refunds = entries.map(({ index, gas_refund }) => ({ index: BigInt(index), gas: BigInt(gas_refund) }));
    const postExec = bytesToHex(encodeTransaction(postExecTransaction({ blockNumber: 2n, refunds })));
    const { hash } = await node.buildBlock({ transactions: [...transactions, postExec], noTxPool: true });
    const block = await node.rpc.call<{ gasUsed: Hex; transactions: Hex[] }>("eth_getBlockByNumber", ["latest", false]);
    const receipts = await node.rpc.call<Receipt[]>("eth_getBlockReceipts", ["latest"]);
    const raw = receipts.slice(0, 3).map(({ gasUsed, opGasRefund = "0x0" }) => Number(gasUsed) + Number(opGasRefund));
    const row = (index: number, refund: number | null) => ({
      tx_index: index,
      replay_tx_index: index,
      tx_hash: block.transactions[index],
      tx_type: index === 0 ? 0x7e : 2,
      is_deposit_tx: index === 0,
      raw_gas_used: raw[index],
      canonical_gas_used: raw[index]! - (refund ?? 0),
      op_gas_refund_payload: refund,
      mismatch: false,
    });
    const expected = {
      config: { compare_payload: true },
      block_num: 2,
      block_hash: hash,
      parent_hash: first.hash,
      post_exec_tx_present: true,
      post_exec_tx_index: 3,
      embedded_payload: { version: 1, block_number: 2, gas_refund_entries: entries },
      txs: [row(0, null), row(1, 21_000), row(2, 9)],
      mismatches: [],
      summary: {
        block_num: 2,
        block_hash: hash,
        tx_count_total: 3,
        tx_count_user: 2,
        post_exec_tx_present: true,
        post_exec_payload_entry_count: 2,
        block_gas_used: Number(block.gasUsed),
        block_raw_gas_used: raw.reduce((sum, gas) => sum + gas),
        payload_refund_total: 21_009,
        mismatch_count: 0,
      },
    };
    for (const selector of ["latest", "0x2", hash]) expect(await replay(selector)).toEqual(expected);
    expect(await replay(hash, {})).toEqual(expected);
    expect(await replay(hash, { compare_payload: false })).toEqual({
      ...expected,
      config: { compare_payload: false },
      txs: [row(0, null), row(1, null), row(2, null)],
      summary: { ...expected.summary, block_gas_used: expected.summary.block_raw_gas_used, payload_refund_total: 0 },
    });
    expect(await replay(first.hash)).toMatchObject({
      post_exec_tx_present: false,
      post_exec_tx_index: null,
      embedded_payload: null,
      summary: { tx_count_total: 2, tx_count_user: 1, payload_refund_total: 0 },
    });
    await expect(replay("0x9")).rejects.toMatchObject({ code: -32001 });
    await expect(replay("0x0")).rejects.toThrow();
    await expect(replay("latest", { compare_payload: 1 })).rejects.toMatchObject({ code: -32602 });
  });

  it("replay says where a block depends on its refunds", async () => {
    const node = await start([]);
    onTestFinished(() => node.remove());
    const described = holdingToDescription(node.rpc);
    const replay = () => described.call<{ mismatches: object[] }>("debug_replaySDMBlock", ["latest"]);
    const sign = (nonce: number, to: Hex | undefined, gas: bigint, data: Hex = "0x") =>
      account.signTransaction({ chainId: CHAIN_ID, type: "eip1559", to, data, gas, nonce, ...FEES });
    // Stores 1 if its caller has more than this, which it has only with the refund of 21,000 gas at 2 gwei.
    const threshold = RICH_BALANCE - 200_000n * 2n * 10n ** 9n - 21_000n * 10n ** 9n;
    const users = [
      await sign(0, BOB, 21_000n),
      await sign(1, undefined, 200_000n, bytesToHex(assemble(`${threshold} CALLER BALANCE GT 0 SSTORE STOP`))),
    ];
    const parent = await node.rpc.call<{ hash: Hex; timestamp: Hex }>("eth_getBlockByNumber", ["0x0", false]);
    const built = async (refunds: readonly { index: bigint; gas: bigint }[]) => {
      const postExec = bytesToHex(encodeTransaction(postExecTransaction({ blockNumber: 1n, refunds })));
      const on = { hash: parent.hash, timestampSec: Number(parent.timestamp) };
      await node.buildBlock({ parent: on, transactions: [...users, postExec], noTxPool: true });
      return node.rpc.call<Receipt[]>("eth_getBlockReceipts", ["latest"]);
    };
    const first = { index: 1n, gas: 21_000n };
    const storing = BigInt((await built([first]))[2]!.gasUsed!);
    expect((await replay()).mismatches).toEqual([]);
    await built([first, { index: 2n, gas: storing }]);
    const without = Number(storing) - 19_900; // the slot stays 0
    expect(await replay()).toMatchObject({
      mismatches: [
        {
          category: "payload_refund_exceeds_raw_gas",
          block_num: 1,
          tx_index: 2,
          expected: without,
          actual: Number(storing),
          message: "payload refund exceeds raw gas for tx index 2",
        },
      ],
      txs: [{}, { mismatch: false, canonical_gas_used: 0 }, { mismatch: true, raw_gas_used: without, canonical_gas_used: 0 }],
      summary: { mismatch_count: 1 },
    });
  });

  it("replay says if a transaction cannot be executed without the refunds", async () => {
    const key: Hex = `0x${"5e".repeat(32)}`;
    const poor = privateKeyToAccount(key);
    const feeOf = (gas: bigint) => gas * FEES.maxFeePerGas + gas * 300n + 70n;
    // enough for one transaction at its fee cap, and half of what the first one costs at 2 gwei
    const balance = feeOf(21_000n) + 21_000n * 10n ** 9n;
    const node = await startTestClient(["--http.api=eth,debug"], undefined, {
      config,
      alloc: { ...alloc, [poor.address]: { balance: toQuantity(balance) } },
      l1: { operatorFeeScalar: 3, operatorFeeConstant: 70n },
    });
    onTestFinished(() => node.remove());
    const sign = (nonce: number) =>
      poor.signTransaction({ chainId: CHAIN_ID, type: "eip1559", to: BOB, gas: 21_000n, nonce, ...FEES });
    const refunds = [{ index: 1n, gas: 21_000n }];
    const postExec = bytesToHex(encodeTransaction(postExecTransaction({ blockNumber: 1n, refunds })));
    await node.buildBlock({ transactions: [await sign(0), await sign(1), postExec], noTxPool: true });
    await expect(node.rpc.call("debug_replaySDMBlock", ["latest"])).rejects.toMatchObject({
      code: -32603,
      message: "transaction 2 is not valid without the refunds of the block: insufficient-funds",
    });
  });
});
