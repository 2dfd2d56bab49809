import { existsSync } from "node:fs";
import { join } from "node:path";
import { type ExecutionApis, readExecutionApis } from "@rnode/conformance";
import { deposit, l1Info, RECIPIENT } from "@rnode/eth-api/testing";
import { type Hex, bytesToHex as toHex, toQuantity } from "@rnode/primitives";
import { encodeTransaction } from "@rnode/protocol";
import { privateKeyToAccount } from "viem/accounts";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { COUNTER_CREATION } from "./testing/counter.ts";
import { CHAIN_ID, GENESIS_TIME_SEC, RICH_ADDRESS, RICH_KEY, startTestClient, type TestClient } from "./testing/test-client.ts";

type Json = Record<string, unknown>;

/** A checkout of ethereum/execution-apis, whose schemas describe the results of the standard methods. */
const folder = process.env.RNODE_EXECUTION_APIS;
if (folder === undefined)
  console.warn("answers are not held against the schemas of ethereum/execution-apis: RNODE_EXECUTION_APIS is not set");
else if (!existsSync(join(folder, "src"))) throw new Error(`RNODE_EXECUTION_APIS: ${folder} has no src folder`);

const account = privateKeyToAccount(RICH_KEY);
const authority = privateKeyToAccount(`0x${"d4".repeat(32)}`);
const OTHER = "0x00000000000000000000000000000000000000aa";
const ZERO = `0x${"00".repeat(32)}`;

/** Standard methods that this client does not have. */
const NOT_SERVED = [
  "debug_getRawBlockAccessList", // of a fork that does not exist yet
  "eth_getBlockAccessList",
];

/** Fields that an OP Stack chain adds to transactions, receipts and payloads; the standard's schemas do not know them. */
const ROLLUP_FIELDS = new Set([
  ...["l1Fee", "l1GasUsed", "l1GasPrice", "l1FeeScalar", "l1BaseFeeScalar", "l1BlobBaseFee", "l1BlobBaseFeeScalar"],
  ...["daFootprintGasScalar", "operatorFeeScalar", "operatorFeeConstant", "depositNonce", "depositReceiptVersion"],
]);
/** Present in the engine's `executionPayload` from Isthmus on. */
const PAYLOAD_FIELDS = new Set(["withdrawalsRoot"]);

/** The value as the standard would have it: without the rollup's fields and without deposits, a type that the standard lacks. */
function withoutRollup(value: unknown, within = ""): unknown {
  if (Array.isArray(value)) {
    return value
      .filter((item) => (item as Json | null)?.type !== "0x7e" && !(typeof item === "string" && item.startsWith("0x7e")))
      .map((item) => withoutRollup(item, within));
  }
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      // the text of the Engine API says "or null", but its schema does not
      .filter(([name, field]) => !(/^(validationError|payloadId)$/.test(name) && field === null))
      .filter(([name]) => !ROLLUP_FIELDS.has(name) && !(within === "executionPayload" && PAYLOAD_FIELDS.has(name)))
      .map(([name, field]) => [name, withoutRollup(field, name)]),
  );
}

describe.skipIf(folder === undefined).each(["R", "G"] as const)("the schemas of execution-apis, profile %s", (profile) => {
  let apis: ExecutionApis;
  let node: TestClient;
  let hashes: Record<"creation" | "legacy" | "listed" | "market" | "delegating" | "pending", Hex>;
  let counter: string;
  let blockHash: Hex;
  let payloadId: Hex;
  let payload: Json;
  beforeAll(async () => {
    apis = await readExecutionApis(folder!);
    node = await startTestClient([`--profile=${profile}`, "--http.api=eth,net,web3,debug,txpool,testing"]);
    let nonce = 0;
    const send = async (fields: object) => {
      const raw = await account.signTransaction({ chainId: CHAIN_ID, gas: 200_000n, nonce: nonce++, ...fields } as never);
      return await node.rpc.call<Hex>("eth_sendRawTransaction", [raw]);
    };
    const fees = { maxFeePerGas: 2_000_000_000n, maxPriorityFeePerGas: 10n };
    const creation = await send({ type: "eip1559", ...fees, data: COUNTER_CREATION });
    await node.buildBlock();
    ({ contractAddress: counter } = await node.rpc.call<{ contractAddress: string }>("eth_getTransactionReceipt", [creation]));
    const legacy = await send({ type: "legacy", gasPrice: 2_000_000_000n, to: OTHER, value: 5n });
    const accessList = [{ address: counter, storageKeys: [ZERO] }];
    const listed = await send({ type: "eip2930", gasPrice: 2_000_000_000n, to: counter, accessList });
    const market = await send({ type: "eip1559", ...fees, to: counter });
    const authorization = await authority.signAuthorization({ chainId: CHAIN_ID, address: OTHER, nonce: 0 });
    const delegating = await send({ type: "eip7702", ...fees, to: OTHER, authorizationList: [authorization] });
    const built = await node.buildBlock({ transactions: [toHex(encodeTransaction(deposit({ to: RECIPIENT })))] });
    blockHash = built.hash;
    const pending = await send({ type: "eip1559", ...fees, to: OTHER });
    hashes = { creation, legacy, listed, market, delegating, pending };
    // One payload that is built and imported, and one that is only started.
    const attributes = {
      timestamp: toQuantity(GENESIS_TIME_SEC + 6),
      prevRandao: ZERO,
      suggestedFeeRecipient: OTHER,
      withdrawals: [],
      parentBeaconBlockRoot: ZERO,
      transactions: [toHex(encodeTransaction(l1Info("jovian")))],
      noTxPool: true,
      gasLimit: toQuantity(30_000_000),
      eip1559Params: "0x000000fa00000006",
      minBaseFee: 0,
    };
    const head = { headBlockHash: blockHash, safeBlockHash: ZERO, finalizedBlockHash: ZERO };
    ({ payloadId } = await node.engine.call<{ payloadId: Hex }>("engine_forkchoiceUpdatedV3", [head, attributes]));
    payload = built.payload.executionPayload;
  });
  afterAll(() => node.remove());

  /** Every standard method that this client serves, with parameters; several rows where a method has several forms of results. */
  const rows = (): Readonly<Record<string, readonly (readonly unknown[])[]>> => {
    const call = { from: RICH_ADDRESS, to: counter };
    const { pending, ...mined } = hashes; // the pending one is in txpool_content: the schemas of the other methods require a block
    const byHash = Object.values(mined).map((hash) => [hash]);
    const logs = { fromBlock: "0x0", toBlock: "latest", address: counter };
    return {
      eth_accounts: [[]],
      eth_baseFee: [[]],
      eth_blobBaseFee: [[]],
      eth_blockNumber: [[]],
      eth_call: [[{ ...call, data: "0x00" }, "latest"]],
      eth_capabilities: [[]],
      eth_chainId: [[]],
      eth_createAccessList: [
        [call, "latest"],
        [{ to: counter, data: "0x01" }, "latest"],
      ],
      eth_estimateGas: [[call], [call, "latest"]],
      eth_feeHistory: [
        ["0x2", "latest", []],
        ["0x3", "latest", [10, 50.5]],
      ],
      eth_fillTransaction: [
        [{ ...call, gasPrice: "0x77359400" }],
        [{ ...call, gasPrice: "0x77359400", accessList: [{ address: counter, storageKeys: [ZERO] }] }],
      ],
      eth_gasPrice: [[]],
      eth_getBalance: [
        [RICH_ADDRESS, "latest"],
        [OTHER, "0x0"],
      ],
      eth_getBlockByHash: [
        [blockHash, false],
        [blockHash, true],
        [ZERO, false],
      ],
      eth_getBlockByNumber: [
        ["0x0", true],
        ["0x2", false],
        ["0x2", true],
        ["latest", true],
        // Like Geth, G leaves hash, nonce and miner of the pending block null, which the schema does not allow.
        ...(profile === "R" ? [["pending", true]] : []),
        ["0xffff", false],
      ],
      eth_getBlockReceipts: [["0x0"], ["0x1"], ["0x2"], ["0xffff"]],
      eth_getBlockTransactionCountByHash: [[blockHash], [ZERO]],
      eth_getBlockTransactionCountByNumber: [["0x2"], ["latest"]],
      eth_getCode: [
        [counter, "latest"],
        [OTHER, "latest"],
      ],
      eth_getLogs: [[logs], [{ blockHash }]],
      eth_getProof: [
        [counter, [ZERO, "0x1"], "latest"],
        [OTHER, [], "0x0"],
      ],
      eth_getStorageAt: [
        [counter, "0x0", "latest"],
        [OTHER, ZERO, "latest"],
      ],
      eth_getStorageValues: [[{ [counter]: [ZERO] }, "latest"]],
      eth_getTransactionByBlockHashAndIndex: [
        [blockHash, "0x2"],
        [blockHash, "0x99"],
      ],
      eth_getTransactionByBlockNumberAndIndex: [
        ["0x2", "0x2"],
        ["0x2", "0x5"],
        ["0xffff", "0x0"],
      ],
      eth_getTransactionByHash: [...byHash, [ZERO]],
      eth_getTransactionCount: [
        [RICH_ADDRESS, "latest"],
        [RICH_ADDRESS, "pending"],
      ],
      eth_getTransactionReceipt: [...byHash, [pending], [ZERO]],
      eth_maxPriorityFeePerGas: [[]],
      eth_simulateV1: [
        [{ blockStateCalls: [{ calls: [call] }, { calls: [{ ...call, data: "0x00" }] }] }, "latest"],
        [{ blockStateCalls: [{ calls: [call] }], traceTransfers: true, returnFullTransactions: true }],
      ],
      net_version: [[]],
      debug_getBadBlocks: [[]],
      debug_getRawBlock: [["latest"]],
      debug_getRawHeader: [["0x1"]],
      debug_getRawReceipts: [["0x2"]],
      debug_getRawTransaction: [[hashes.market]],
      debug_traceBlockByHash: [[blockHash, {}]],
      debug_traceBlockByNumber: [["0x2", { enableMemory: true, enableReturnData: true }]],
      debug_traceTransaction: [[hashes.market], [hashes.creation, { disableStorage: true, disableStack: true }]],
      txpool_content: [[]],
      txpool_contentFrom: [[RICH_ADDRESS]],
      txpool_status: [[]],
      testing_buildBlockV1: [],
    };
  };
  /** Tested below, in the order that they require. */
  const APART = [
    "eth_newFilter",
    "eth_newBlockFilter",
    "eth_newPendingTransactionFilter",
    "eth_getFilterChanges",
    "eth_getFilterLogs",
    "eth_uninstallFilter",
    "eth_sendRawTransaction",
  ];
  /** A node without keys can only answer with an error. */
  const REFUSED = ["eth_sign", "eth_signTransaction", "eth_sendTransaction"];
  /** A proof-of-work method: R answers, as Reth does, that it is not implemented; in G, as in Geth, it does not exist. */
  const COINBASE = "eth_coinbase";
  /** Results that deviate from the standard: R's sync status has stages (docs/faces.md), and an OP Stack chain has no blob schedule. */
  const OWN = ["eth_config", ...(profile === "R" ? ["eth_syncing"] : [])];

  const check = async (method: string, params: readonly unknown[], rpc = node.rpc): Promise<unknown> => {
    const result = await rpc.call(method, params);
    const fault = apis.faultOf(method, withoutRollup(result));
    expect(fault, `${method} ${JSON.stringify(params).slice(0, 200)}: ${JSON.stringify(result).slice(0, 600)}`).toBeUndefined();
    return result;
  };

  it("hold for every method, in every form of its answer", async () => {
    const all = rows();
    for (const [method, asked] of Object.entries(all)) for (const params of asked) await check(method, params);
    if (profile === "G") await check("eth_syncing", []);
  });

  it("hold for a transaction that is filled in, but for the gas price", async () => {
    // As Geth and Reth do, returns one fee model; the schema requires both for a transaction that can be sent with only one of them.
    for (const request of [
      { from: RICH_ADDRESS, to: counter },
      { from: RICH_ADDRESS, data: COUNTER_CREATION },
    ]) {
      const { tx } = await node.rpc.call<{ tx: Json }>("eth_fillTransaction", [request]);
      expect(tx).not.toHaveProperty("gasPrice");
      expect(apis.faultOf("eth_fillTransaction", { tx: { ...tx, gasPrice: tx.maxFeePerGas } })).toBeUndefined();
    }
  });

  it("hold for filters and sending", async () => {
    const filter = await check("eth_newFilter", [{ fromBlock: "0x0", address: counter }]);
    const blocks = await check("eth_newBlockFilter", []);
    const pending = await check("eth_newPendingTransactionFilter", []);
    const nonce = Number(await node.rpc.call<Hex>("eth_getTransactionCount", [RICH_ADDRESS, "pending"]));
    const transaction = {
      type: "eip1559",
      maxFeePerGas: 2_000_000_000n,
      maxPriorityFeePerGas: 10n,
      gas: 100_000n,
      to: counter,
    } as const;
    await check("eth_sendRawTransaction", [await account.signTransaction({ chainId: CHAIN_ID, nonce, ...transaction } as never)]);
    await node.buildBlock();
    expect(await check("eth_getFilterLogs", [filter])).toHaveLength(3);
    for (const id of [filter, blocks, pending]) {
      expect(await check("eth_getFilterChanges", [id])).toHaveLength(1);
      await check("eth_uninstallFilter", [id]);
    }
    for (const method of REFUSED)
      await expect(node.rpc.call(method, [RICH_ADDRESS, "0x00"])).rejects.toMatchObject({ code: expect.any(Number) });
  });

  it("hold for the Engine API", async () => {
    const head = { headBlockHash: blockHash, safeBlockHash: ZERO, finalizedBlockHash: ZERO };
    await check("engine_exchangeCapabilities", [["engine_newPayloadV4"]], node.engine);
    await check("engine_forkchoiceUpdatedV3", [head, null], node.engine);
    const built = (await check("engine_getPayloadV4", [payloadId], node.engine)) as Json;
    expect(built).toHaveProperty("executionRequests", []);
    await check("engine_newPayloadV4", [payload, [], ZERO, []], node.engine);
    await check("engine_getPayloadBodiesByHashV1", [[blockHash]], node.engine);
    await check("engine_getPayloadBodiesByRangeV1", ["0x1", "0x2"], node.engine);
    await check("engine_getBlobsV1", [[]], node.engine);
    await check("engine_getBlobsV3", [[ZERO]], node.engine);
  });

  it("where a schema leaves out an answer that the text has, the answer is as the text says", async () => {
    const faulty = async (method: string, params: readonly unknown[], expected: unknown, rpc = node.rpc): Promise<void> => {
      const result = await rpc.call(method, params);
      expect([method, result]).toEqual([method, expected]);
      expect([method, apis.faultOf(method, result)]).not.toEqual([method, undefined]); // if this fails, the schema was fixed: add a row above
    };
    // An empty list matches both the schema for hashes and the one for logs, but the standard requires exactly one match.
    await faulty("eth_getLogs", [{ fromBlock: "0x0", toBlock: "latest", address: OTHER }], []);
    const filter = await node.rpc.call("eth_newFilter", [{ fromBlock: "0x0", address: OTHER }]);
    for (const method of ["eth_getFilterLogs", "eth_getFilterChanges"]) await faulty(method, [filter], []);
    // the text says "null for unavailable" bodies and blobs
    await faulty("engine_getPayloadBodiesByHashV1", [[ZERO]], [null], node.engine);
    await faulty("engine_getBlobsV1", [[ZERO]], [null], node.engine);
    await faulty("engine_getBlobsV2", [[ZERO]], null, node.engine);
  });

  it("are known for every standard method that is served", async () => {
    const { methods } = await node.rpc.call<{ methods: { name: string }[] }>("rpc.discover");
    const served = methods.map(({ name }) => name).filter((name) => apis.methods.has(name));
    const covered = [...Object.keys(rows()), ...APART, ...REFUSED, ...OWN, "eth_syncing", COINBASE];
    expect(served.filter((name) => !covered.includes(name))).toEqual([]);
    const missing = [...apis.methods].filter((name) => !name.startsWith("engine_") && !served.includes(name));
    expect(missing.sort()).toEqual([...NOT_SERVED, ...(profile === "G" ? [COINBASE] : [])].sort());
    const { code } = (await node.rpc.call(COINBASE).catch((error: unknown) => error)) as { code?: number };
    expect(code).toBe(profile === "R" ? -32603 : -32601);
  });
});
