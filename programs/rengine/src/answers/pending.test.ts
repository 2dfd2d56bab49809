import type { RpcClient } from "@rnode/jsonrpc";
import { bytesToHex, type Hex, hexToBytes, keccak256, toQuantity } from "@rnode/primitives";
import { privateKeyToAccount } from "viem/accounts";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { COUNTER_CREATION } from "../testing/counter.ts";
import { holdingToDescription } from "../testing/described-answers.ts";
import { CHAIN_ID, RICH_ADDRESS, RICH_BALANCE, RICH_KEY, startTestClient, type TestClient } from "../testing/test-client.ts";

/*
 * The block under construction is not shown: as with the defaults of both clients on an OP Stack chain, `pending` is the latest block
 * and its state. Only the nonce takes the pool into account.
 */

const account = privateKeyToAccount(RICH_KEY);
const OTHER: Hex = `0x${"5a".repeat(20)}`;
type Json = Record<string, unknown>;

describe.each(["R", "G"] as const)("the block pending, profile %s", (profile) => {
  let node: TestClient;
  let described: RpcClient;
  let counter: Hex;
  const rpc = <T>(method: string, ...params: unknown[]): Promise<T> => described.call<T>(method, params);
  const send = async (nonce: number, fields: object): Promise<Hex> => {
    const fees = { type: "eip1559", maxFeePerGas: 10n ** 10n, maxPriorityFeePerGas: 1n } as const;
    const raw = await account.signTransaction({ chainId: CHAIN_ID, gas: 200_000n, nonce, ...fees, ...fields });
    await node.rpc.call("eth_sendRawTransaction", [raw]);
    return bytesToHex(keccak256(hexToBytes(raw)));
  };

  beforeAll(async () => {
    node = await startTestClient([`--profile=${profile}`]);
    described = holdingToDescription(node.rpc);
    const creation = await send(0, { data: COUNTER_CREATION });
    await node.buildBlock();
    counter = (await rpc<{ contractAddress: Hex }>("eth_getTransactionReceipt", creation)).contractAddress;
    await send(1, { to: counter });
    await node.buildBlock();
    // The pool gets two executable transactions and one whose nonce leaves a gap.
    for (const nonce of [2, 3, 5]) await send(nonce, { to: OTHER, value: 7n });
  });
  afterAll(() => node.remove());

  it("is the latest block", async () => {
    const identity = profile === "G" ? { hash: null, nonce: null, miner: null } : {};
    for (const full of [false, true]) {
      const latest = await rpc<Json>("eth_getBlockByNumber", "latest", full);
      expect(await rpc("eth_getBlockByNumber", "pending", full)).toEqual({ ...latest, ...identity });
    }
    expect(await rpc("eth_getHeaderByNumber", "pending")).toEqual({
      ...(await rpc<Json>("eth_getHeaderByNumber", "latest")),
      ...identity,
    });
  });

  it.each([
    ["eth_getBlockTransactionCountByNumber", []],
    ["eth_getUncleCountByBlockNumber", []],
    ["eth_getBlockReceipts", []],
    ["debug_getRawBlock", []],
    ["debug_getRawHeader", []],
    ["debug_getRawReceipts", []],
    ["debug_traceBlockByNumber", [{ tracer: "callTracer" }]],
  ] as const)("%s", async (method, more) => {
    const [latest, pending] = [await rpc(method, "latest", ...more), await rpc(method, "pending", ...more)];
    expect(latest).not.toBe(null);
    expect(pending).toEqual(latest);
  });

  it("has the latest block's transactions", async () => {
    const last = await rpc<Json>("eth_getTransactionByBlockNumberAndIndex", "pending", "0x1");
    expect(last).toMatchObject({ nonce: "0x1", blockNumber: "0x2" });
    expect(await rpc("eth_getTransactionByBlockNumberAndIndex", "pending", "0x2")).toBe(null);
    expect(await rpc("eth_getRawTransactionByBlockNumberAndIndex", "pending", "0x1")).toMatch(/^0x02/);
  });

  it("has the latest block's state: balances, code, storage, proofs, calls", async () => {
    for (const [method, ...params] of [
      ["eth_getBalance", RICH_ADDRESS],
      ["eth_getCode", counter],
      ["eth_getStorageAt", counter, "0x0"],
      ["eth_getProof", counter, ["0x0"]],
      ["eth_getAccount", RICH_ADDRESS],
    ] as const) {
      expect(await rpc(method, ...params, "pending")).toEqual(await rpc(method, ...params, "latest"));
    }
    expect(BigInt(await rpc<Hex>("eth_getBalance", RICH_ADDRESS, "pending"))).toBeLessThan(RICH_BALANCE);
    expect(await rpc("eth_getBalance", OTHER, "pending")).toBe("0x0");
    const call = { from: RICH_ADDRESS, to: counter, data: "0x00" };
    expect(BigInt(await rpc<Hex>("eth_call", call, "pending"))).toBe(1n);
    expect(await rpc("eth_estimateGas", call, "pending")).toBe(await rpc("eth_estimateGas", call, "latest"));
    expect(await rpc("eth_createAccessList", call, "pending")).toEqual(await rpc("eth_createAccessList", call, "latest"));
    const simulated = { blockStateCalls: [{ calls: [call] }] };
    expect(await rpc<Json[]>("eth_simulateV1", simulated, "pending")).toMatchObject([{ number: "0x3" }]);
  });

  it("counts the pool's transactions in the nonce, as far as there is no gap", async () => {
    expect(await rpc("eth_getTransactionCount", RICH_ADDRESS, "latest")).toBe("0x2");
    expect(await rpc("eth_getTransactionCount", RICH_ADDRESS, "pending")).toBe("0x4");
    expect(await rpc("eth_getTransactionCount", OTHER, "pending")).toBe("0x0");
  });

  it("ends log queries and fee histories", async () => {
    const logs = await rpc<Json[]>("eth_getLogs", { fromBlock: "earliest", toBlock: "latest", address: counter });
    expect(logs).toHaveLength(1);
    for (const fromBlock of ["earliest", "pending"]) {
      const range = { fromBlock, toBlock: "pending", address: counter };
      if (profile === "G") {
        const refusal = { code: -32602, message: "pending logs are not supported" };
        await expect(rpc("eth_getLogs", range)).rejects.toMatchObject(refusal);
        await expect(rpc("eth_newFilter", range)).rejects.toMatchObject(refusal);
        continue;
      }
      expect(await rpc("eth_getLogs", range)).toEqual(logs);
      expect(await rpc("eth_getFilterLogs", await rpc<Hex>("eth_newFilter", range))).toEqual(logs);
    }
    expect(await rpc("eth_feeHistory", "0x2", "pending", [50])).toEqual(await rpc("eth_feeHistory", "0x2", "latest", [50]));
  });

  it("is not where transactions of the pool are shown: they have no block", async () => {
    const { pending } = await rpc<{ pending: Record<string, Record<string, Json>> }>("txpool_content");
    const own = Object.entries(pending).find(([address]) => address.toLowerCase() === RICH_ADDRESS)![1];
    expect(Object.keys(own)).toEqual(["2", "3"]);
    const { hash } = own["2"]!;
    const shown = await rpc<Json>("eth_getTransactionByHash", hash);
    expect(shown).toMatchObject({ blockHash: null, blockNumber: null, transactionIndex: null, nonce: toQuantity(2) });
    expect(await rpc("eth_getTransactionReceipt", hash)).toBe(null);
  });

  it("moves on with the chain", async () => {
    await node.buildBlock();
    expect(await rpc("eth_getBlockByNumber", "pending", false)).toMatchObject({ number: "0x3" });
    expect(await rpc("eth_getBalance", OTHER, "pending")).toBe("0xe");
    expect(await rpc("eth_getTransactionCount", RICH_ADDRESS, "pending")).toBe("0x4");
  });
});
