import type { RpcClient } from "@rnode/jsonrpc";
import { type Hex, toQuantity } from "@rnode/primitives";
import { getContractAddress } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Anvil, anvilBinary, startAnvil } from "../testing/anvil.ts";
import { COUNTER_CREATION } from "../testing/counter.ts";
import { CHAIN_ID, RICH_ADDRESS, RICH_BALANCE, RICH_KEY, startTestClient, type TestClient } from "../testing/test-client.ts";

type Json = Record<string, unknown>;

const binary = anvilBinary();
if (binary === undefined) console.warn("answers are not compared with anvil's: it has no program for this machine");
const account = privateKeyToAccount(RICH_KEY);
const authority = privateKeyToAccount(`0x${"d4".repeat(32)}`);
const COUNTER = getContractAddress({ from: account.address, nonce: 0n }).toLowerCase() as Hex;
const OTHER = "0x00000000000000000000000000000000000000aa";
const ZERO = `0x${"00".repeat(32)}`;
const GAS_PRICE = 3_000_000_000n;
const word = (value: number): string => `0x${value.toString(16).padStart(64, "0")}`;

/** Fields that differ because the blocks do: their numbers, hashes, times and fees, and the places of transactions in them. */
const OF_THE_BLOCK = new Set([
  ...["blockHash", "blockNumber", "blockTimestamp", "transactionIndex", "logIndex", "cumulativeGasUsed"],
  ...["effectiveGasPrice", "gasPrice", "logsBloom"],
]);
/** Fields that only a rollup has, and those that anvil adds to receipts without blobs. */
const OF_ONE_SIDE = /^(l1\w+|daFootprintGasScalar|operatorFee\w+|blobGasUsed|blobGasPrice)$/;

/** The answer without anything that depends on the block: only the names of such fields remain. */
function comparable(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(comparable);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      // anvil also has the time in receipts, and not as a quantity
      .filter(([name, field]) => !OF_ONE_SIDE.test(name) && !(name === "blockTimestamp" && typeof field === "number"))
      .map(([name, field]) => [name, OF_THE_BLOCK.has(name) ? typeof field : comparable(field)]),
  );
}

/** With the same transactions on both chains, answers about the transactions and their effects must be the same. */
describe.skipIf(binary === undefined)("answers are those of anvil", () => {
  let node: TestClient;
  let anvil: Anvil;
  const hashes = new Map<string, Hex>();

  beforeAll(async () => {
    node = await startTestClient();
    anvil = await startAnvil(binary!, ["--hardfork", "prague", "--chain-id", String(CHAIN_ID), "--accounts", "0"]);
    await anvil.rpc.call("anvil_setBalance", [RICH_ADDRESS, toQuantity(RICH_BALANCE)]);
    let nonce = 0;
    const send = async (name: string, fields: object): Promise<void> => {
      const raw = await account.signTransaction({ chainId: CHAIN_ID, gas: 200_000n, nonce: nonce++, ...fields } as never);
      const hash = await node.rpc.call<Hex>("eth_sendRawTransaction", [raw]);
      expect(await anvil.rpc.call("eth_sendRawTransaction", [raw])).toBe(hash);
      hashes.set(name, hash);
    };
    const market = { type: "eip1559", maxFeePerGas: GAS_PRICE, maxPriorityFeePerGas: 10n };
    await send("creation", { ...market, data: COUNTER_CREATION });
    await send("legacy", { type: "legacy", gasPrice: GAS_PRICE, to: OTHER, value: 5n });
    const accessList = [{ address: COUNTER, storageKeys: [ZERO] }];
    await send("access list", { type: "eip2930", gasPrice: GAS_PRICE, to: COUNTER, accessList });
    await send("call with a log", { ...market, to: COUNTER });
    await send("revert", { ...market, to: COUNTER, data: "0x01" });
    await send("out of gas", { ...market, to: COUNTER, gas: 25_000n });
    await send("transfer with data", { ...market, to: OTHER, value: 1n, data: "0x00ff00ff" });
    // The account must exist: anvil treats a missing account as an existing one.
    await send("endowment", { ...market, to: authority.address, value: 1n });
    const authorization = await authority.signAuthorization({ chainId: CHAIN_ID, address: OTHER, nonce: 0 });
    await send("delegation", {
      type: "eip7702",
      maxFeePerGas: GAS_PRICE,
      maxPriorityFeePerGas: 10n,
      to: OTHER,
      authorizationList: [authorization],
    });
    await node.buildBlock();
  });
  afterAll(async () => {
    await anvil?.stop();
    await node?.remove();
  });

  const both = async <T>(ask: (rpc: RpcClient) => Promise<T>): Promise<readonly [ours: T, theirs: T]> => [
    await ask(node.rpc),
    await ask(anvil.rpc),
  ];
  const outcome = (rpc: RpcClient, method: string, params: unknown[]): Promise<unknown> =>
    rpc.call(method, params).catch(({ code, data }: { code: number; data: unknown }) => ({ code, data }));

  it.each(["creation", "legacy", "access list", "call with a log", "revert", "out of gas", "transfer with data", "delegation"])(
    "a %s: transaction and receipt",
    async (name) => {
      for (const method of ["eth_getTransactionByHash", "eth_getTransactionReceipt"]) {
        const [ours, theirs] = await both((rpc) => rpc.call<Json>(method, [hashes.get(name)]));
        expect(comparable(ours), method).toEqual(comparable(theirs));
      }
    },
  );

  it("a block has the same fields; the rollup's has those of its fork too", async () => {
    const [ours, theirs] = await both((rpc) => rpc.call<Json>("eth_getBlockByNumber", ["latest", false]));
    const own = Object.keys(ours);
    expect(Object.keys(theirs).filter((name) => !own.includes(name) && name !== "totalDifficulty")).toEqual([]);
    expect(own.filter((name) => !(name in theirs))).toEqual([]);
    const typeOf = (block: Json) =>
      Object.fromEntries(
        Object.keys(theirs)
          .filter((name) => name in ours)
          .map((name) => [name, Array.isArray(block[name]) ? "array" : typeof block[name]]),
      );
    expect(typeOf(ours)).toEqual(typeOf(theirs));
  });

  const call = { from: RICH_ADDRESS, to: COUNTER };
  it.each<[string, string, unknown[]]>([
    ["a read", "eth_call", [{ ...call, data: "0x00" }, "latest"]],
    ["a read without a block", "eth_call", [{ ...call, data: "0x00" }]],
    ["a call that reverts", "eth_call", [{ ...call, data: "0x01" }, "latest"]],
    ["a creation", "eth_call", [{ from: RICH_ADDRESS, data: COUNTER_CREATION }, "latest"]],
    ["overridden storage", "eth_call", [{ ...call, data: "0x00" }, "latest", { [COUNTER]: { stateDiff: { [ZERO]: word(9) } } }]],
    ["overridden code", "eth_call", [{ to: OTHER }, "latest", { [OTHER]: { code: "0x4360005260206000f3" } }, { number: "0x4d2" }]],
    ["an estimate that reverts", "eth_estimateGas", [{ ...call, data: "0x01" }]],
    ["an access list", "eth_createAccessList", [call, "latest"]],
    ["code", "eth_getCode", [COUNTER, "latest"]],
    ["delegated code", "eth_getCode", [authority.address, "latest"]],
    ["no code", "eth_getCode", [OTHER, "latest"]],
    ["a slot", "eth_getStorageAt", [COUNTER, "0x0", "latest"]],
    ["an empty slot", "eth_getStorageAt", [OTHER, word(7), "latest"]],
    ["a nonce", "eth_getTransactionCount", [RICH_ADDRESS, "latest"]],
    ["a pending nonce", "eth_getTransactionCount", [RICH_ADDRESS, "pending"]],
    ["a balance", "eth_getBalance", [OTHER, "latest"]],
    ["an unknown transaction", "eth_getTransactionByHash", [ZERO]],
    ["an unknown receipt", "eth_getTransactionReceipt", [ZERO]],
    ["an unknown block", "eth_getBlockByHash", [ZERO, false]],
    ["a block that is to come", "eth_getBlockByNumber", ["0xffff", false]],
    ["chain id", "eth_chainId", []],
    ["network", "net_version", []],
    ["a hash", "web3_sha3", ["0x1234"]],
    ["no accounts", "eth_accounts", []],
  ])("%s", async (_, method, params) => {
    const [ours, theirs] = await both((rpc) => outcome(rpc, method, params));
    // anvil shows the gas with the list, Reth without
    const withoutGas = (answer: unknown): unknown =>
      method === "eth_createAccessList"
        ? JSON.parse(JSON.stringify(answer), (key, value: unknown) => (key === "gasUsed" ? "" : value))
        : answer;
    expect(withoutGas(ours)).toEqual(withoutGas(theirs));
  });

  it("logs, by address, topic and filter", async () => {
    for (const filter of [
      { address: COUNTER },
      { topics: [word(2)] },
      { address: [COUNTER, OTHER], topics: [[word(1), word(2)]] },
      { address: OTHER },
    ]) {
      const [ours, theirs] = await both((rpc) => rpc.call("eth_getLogs", [{ fromBlock: "0x0", toBlock: "latest", ...filter }]));
      expect(comparable(ours)).toEqual(comparable(theirs));
    }
  });

  it("estimates within 2 %", async () => {
    for (const request of [call, { from: RICH_ADDRESS, to: OTHER, value: "0x1" }, { from: RICH_ADDRESS, data: COUNTER_CREATION }]) {
      const [ours, theirs] = await both((rpc) => rpc.call<Hex>("eth_estimateGas", [request]));
      expect(Math.abs(Number(ours) / Number(theirs) - 1), JSON.stringify(request)).toBeLessThan(0.02);
    }
  });

  it("simulated calls", async () => {
    const request = { blockStateCalls: [{ calls: [call, { ...call, data: "0x00" }, { ...call, data: "0x01" }] }] };
    type Block = { calls: Json[] };
    const [[ours], [theirs]] = (await both((rpc) => rpc.call<Block[]>("eth_simulateV1", [request, "latest"]))) as [
      Block[],
      Block[],
    ];
    const plain = ({ calls }: Block) =>
      calls.map(({ gasUsed, status, logs }) =>
        comparable({ gasUsed, status, logs: (logs as Json[]).map((log) => ({ ...log, transactionHash: null })) }),
      );
    expect(plain(ours!)).toEqual(plain(theirs!));
    expect(ours!.calls[1]!.returnData).toEqual(theirs!.calls[1]!.returnData);
  });

  it("fee history, proof and pool are of the same form", async () => {
    const form = (value: unknown): unknown => {
      if (Array.isArray(value)) return value.slice(0, 1).map(form);
      if (typeof value !== "object" || value === null) return typeof value;
      return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, form(field)]));
    };
    for (const [method, params] of [
      ["eth_feeHistory", ["0x1", "latest", [10, 50]]],
      ["eth_getProof", [COUNTER, [ZERO], "latest"]],
      ["txpool_status", []],
    ] as const) {
      const [ours, theirs] = await both((rpc) => rpc.call(method, params));
      expect(form(ours), method).toEqual(form(theirs));
    }
  });
});
