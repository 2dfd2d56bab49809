import { bytesToHex, type Hex, hexToBytes } from "@rnode/primitives";
import { encodeTransaction, signTransaction } from "@rnode/protocol";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CHAIN_ID, RICH_ADDRESS, RICH_KEY, startTestClient, type TestClient } from "../testing/test-client.ts";

// What op-reth answers where face R answered otherwise. Codes and texts are those of the newest Reth.

const ABSENT: Hex = "0x000000000000000000000000000000000000dead";
const STORE: Hex = "0x00000000000000000000000000000000000000aa";
const REVERTING: Hex = "0x00000000000000000000000000000000000000bb";
const ZERO: Hex = `0x${"00".repeat(32)}`;
const VAULT = "0x4200000000000000000000000000000000000011";
/** MSTORE(0, 1), SLOAD(0), SSTORE(0, that + 1), STOP */
const CODE = "0x6001600052600054600101600055";
const any = expect.anything();
const error = (code: number, message: unknown, data?: unknown) => ({ error: { code, message, data } });

const signed = (nonce: bigint): Hex =>
  bytesToHex(
    encodeTransaction(
      signTransaction(
        {
          type: 0x02,
          chainId: BigInt(CHAIN_ID),
          nonce,
          gasLimit: 200_000n,
          value: 0n,
          data: new Uint8Array(0),
          accessList: [],
          to: hexToBytes(STORE),
          maxPriorityFeePerGas: 10n,
          maxFeePerGas: 2_000_000_000n,
        },
        hexToBytes(RICH_KEY),
      ),
    ),
  );

/** After one block with a deposit and one transaction of the rich account. */
const rows: readonly (readonly [method: string, params: readonly unknown[], expected: unknown])[] = [
  ["trace_block", ["0xffffff"], error(-32001, "block not found: 0xffffff")],
  ["trace_replayBlockTransactions", ["0xffffff", ["trace"]], null],
  ["trace_rawTransaction", ["0x", ["trace"]], error(-32602, "empty transaction data")],
  ["trace_rawTransaction", [signed(0n), ["trace"]], error(-32000, "nonce too low: next nonce 1, tx nonce 0")],
  ["trace_rawTransaction", [signed(2n), ["trace"]], error(-32000, "nonce too high")],
  ["trace_rawTransaction", [signed(1n), ["trace"]], { output: "0x" }],
  [
    "eth_estimateGas",
    [{ from: RICH_ADDRESS, to: STORE, gas: "0x100" }, "latest"],
    error(-32000, "gas required exceeds allowance (256)"),
  ],
  ["eth_estimateGas", [{ from: RICH_ADDRESS, to: STORE, gasPrice: "0x1" }, "latest"], expect.stringMatching(/^0x/)],
  ["eth_estimateGas", [{ from: RICH_ADDRESS, to: REVERTING }, "latest"], error(3, "execution reverted")],
  ["eth_call", [{ from: RICH_ADDRESS, to: REVERTING }, "latest"], error(3, "execution reverted")],
  [
    "eth_call",
    [{ from: ABSENT, to: ABSENT, gasPrice: "0x1", value: "0xff" }, "latest"],
    error(-32003, "insufficient funds for gas * price + value: have 0 want 255"),
  ],
  [
    "eth_call",
    [{ to: ABSENT, maxFeePerGas: "0x1", maxPriorityFeePerGas: "0x2" }, "latest"],
    error(-32000, "max fee per gas less than block base fee"),
  ],
  ["eth_estimateGas", [{ from: ABSENT, to: ABSENT, value: "0x1" }, "latest"], error(-32003, "EVM error: OutOfFunds")],
  ["eth_feeHistory", ["0x0", "latest", []], { oldestBlock: "0x0", gasUsedRatio: [] }],
  ["eth_feeHistory", ["0x1", "latest", []], { reward: [] }],
  ["eth_feeHistory", ["0x1", "latest", [101]], error(-32602, "invalid reward percentiles", any)],
  [
    "eth_config",
    [],
    {
      current: {
        blobSchedule: { baseFeeUpdateFraction: 5_007_716, max: 9, target: 6 },
        systemContracts: {
          CONSOLIDATION_REQUEST_PREDEPLOY_ADDRESS: "0x0000bbddc7ce488642fb579f8b00f3a590007251",
          DEPOSIT_CONTRACT_ADDRESS: "0x00000000219ab540356cbb839cbe05303d7705fa",
          WITHDRAWAL_REQUEST_PREDEPLOY_ADDRESS: "0x00000961ef480eb55e80d19ad83579a64c007002",
        },
      },
    },
  ],
  ["eth_getTransactionByBlockNumberAndIndex", ["0x1", 1], { type: "0x2" }],
  ["eth_getStorageAt", [STORE, 0, "latest"], `0x${"0".repeat(63)}1`],
  ["eth_getStorageAt", [STORE, "0", "latest"], `0x${"0".repeat(63)}1`],
  [
    "eth_getLogs",
    [{ fromBlock: "0xfffff0", toBlock: "0xffffff" }],
    error(-32602, "block range extends beyond current head block: requested 16777215, head 1"),
  ],
  ["eth_uninstallFilter", ["0x1"], false],
  ["eth_sendTransaction", [{ from: ABSENT }], error(-32602, "unknown account", any)],
  ["debug_getRawTransaction", [ZERO], null],
  ["debug_traceBlockByNumber", ["0x0", {}], error(-32001, `block not found: hash ${ZERO}`)],
  ["debug_traceBlockByNumber", ["0xffffff", {}], error(-32001, "block not found: 0xffffff")],
  ["debug_traceTransaction", [ZERO, {}], error(-32001, "transaction not found")],
  ["debug_traceCall", [{ to: ABSENT }, "latest", { tracer: "nonsense" }], error(-32603, "JS Tracer is not enabled", any)],
  ["trace_filter", [{}], any],
  ["rpc_modules", [], { eth: "1.0", rpc: "1.0", trace: "1.0" }],
  ["admin_clearTxpool", [], 0],
];

interface Replay {
  readonly trace: { action: { gas: Hex }; result: { gasUsed: Hex } }[];
  readonly stateDiff: Record<string, { code: unknown }>;
  readonly vmTrace: { ops: { op: string; ex: { mem: { off: number; data: Hex } } }[] };
}

describe("answers beside op-reth", () => {
  let node: TestClient;
  let hash: Hex;
  let deposit: Hex;
  beforeAll(async () => {
    node = await startTestClient(["--http.api=eth,net,web3,debug,trace,admin,txpool,rpc"], undefined, {
      alloc: { [STORE]: { balance: "0x0", code: CODE }, [REVERTING]: { balance: "0x0", code: "0x60006000fd" } },
    });
    hash = await node.rpc.call<Hex>("eth_sendRawTransaction", [signed(0n)]);
    await node.buildBlock();
    ({
      transactions: [deposit],
    } = await node.rpc.call<{ transactions: [Hex] }>("eth_getBlockByNumber", ["latest", false]));
  });
  afterAll(() => node.remove());

  it.each(rows)("%s %j", async (method, params, expected) => {
    const given: unknown = await node.rpc
      .call(method, params as unknown[])
      .catch(({ code, message, data }: { code: number; message: string; data: unknown }) => error(code, message, data));
    if (typeof expected === "object" && expected !== null && !("asymmetricMatch" in expected))
      expect(given).toMatchObject(expected);
    else expect(given).toEqual(expected);
  });

  it("gas of traces: the engine's in replays, the transaction's limit in flatCallTracer, the engine's in muxTracer", async () => {
    const limit = "0x30d40";
    const ran = `0x${(200_000 - 21_000).toString(16)}`;
    const receipt = await node.rpc.call<{ gasUsed: Hex }>("eth_getTransactionReceipt", [hash]);
    const withoutIntrinsic = `0x${(Number(receipt.gasUsed) - 21_000).toString(16)}`;
    const { trace } = await node.rpc.call<Replay>("trace_replayTransaction", [hash, ["trace"]]);
    expect(trace[0]).toMatchObject({ action: { gas: ran }, result: { gasUsed: withoutIntrinsic } });
    const traced = (tracer: string, tracerConfig?: object) =>
      node.rpc.call<unknown>("debug_traceTransaction", [hash, { tracer, ...(tracerConfig && { tracerConfig }) }]);
    expect(await traced("flatCallTracer")).toMatchObject([{ action: { gas: limit }, result: { gasUsed: withoutIntrinsic } }]);
    expect(await traced("callTracer")).toMatchObject({ gas: limit, gasUsed: receipt.gasUsed });
    expect(await traced("muxTracer", { callTracer: {} })).toMatchObject({ callTracer: { gas: ran, gasUsed: receipt.gasUsed } });
  });

  it("the whole memory before every instruction in vmTrace", async () => {
    const { vmTrace } = await node.rpc.call<Replay>("trace_replayTransaction", [hash, ["vmTrace"]]);
    const one = `0x${"0".repeat(63)}1`;
    expect(vmTrace.ops.map(({ op, ex }) => [op, ex.mem]).slice(0, 5)).toEqual([
      ["PUSH1", { off: 0, data: "0x" }],
      ["PUSH1", { off: 0, data: "0x" }],
      ["MSTORE", { off: 0, data: "0x" }],
      ["PUSH1", { off: 32, data: one }],
      ["SLOAD", { off: 32, data: one }],
    ]);
    expect(vmTrace.ops.at(-1)!.ex.mem).toEqual({ off: 32, data: one });
  });

  it("no fee vault before a deposit", async () => {
    const before = await node.rpc.call<object>("debug_traceTransaction", [deposit, { tracer: "prestateTracer" }]);
    expect(before).not.toHaveProperty(VAULT);
    expect(await node.rpc.call<object>("debug_traceTransaction", [hash, { tracer: "prestateTracer" }])).toHaveProperty(VAULT);
  });

  it("the size of the block in headers", async () => {
    const { size, hash: block } = await node.rpc.call<{ size: Hex; hash: Hex }>("eth_getBlockByNumber", ["0x1", false]);
    expect(await node.rpc.call("eth_getHeaderByNumber", ["0x1"])).toMatchObject({ size });
    expect(await node.rpc.call("eth_getHeaderByHash", [block])).toMatchObject({ size });
  });

  it("the gas of a call without the access list that is created for it", async () => {
    const call = { from: RICH_ADDRESS, to: REVERTING, data: "0x" };
    const touching = { from: RICH_ADDRESS, to: ABSENT };
    const state = { [ABSENT]: { code: "0x60aa3160005260206000fd" } }; // BALANCE(0xaa) in a revert
    const created = await node.rpc.call<{ gasUsed: Hex; accessList: unknown[] }>("eth_createAccessList", [
      touching,
      "latest",
      state,
    ]);
    const { gas, failed } = await node.rpc.call<{ gas: number; failed: boolean }>("debug_traceCall", [
      touching,
      "latest",
      { stateOverrides: state },
    ]);
    expect([Number(created.gasUsed), created.accessList.length, failed]).toEqual([gas, 1, true]);
    expect(await node.rpc.call("eth_createAccessList", [call, "latest"])).toMatchObject({ error: "execution reverted" });
  });

  it("answers at every path, to other JSON types, and to notifications", async () => {
    const post = async (path: string, type: string, id?: number) => {
      const body = JSON.stringify({ jsonrpc: "2.0", method: "eth_chainId", params: [], id });
      const response = await fetch(`${node.httpUrl}${path}`, { method: "POST", headers: { "content-type": type }, body });
      return [response.status, await response.text()];
    };
    const answer = `{"jsonrpc":"2.0","id":1,"result":"0x385"}`;
    expect(await post("/", "application/json", 1)).toEqual([200, answer]);
    expect(await post("/any/path", "application/json", 1)).toEqual([200, answer]);
    expect(await post("/", "application/json-rpc", 1)).toEqual([200, answer]);
    expect(await post("/", "text/plain", 1)).toEqual([415, any]);
    for (const type of ["application/json", "application/json-rpc"]) expect(await post("/", type)).toEqual([200, "null"]);
  });
});
