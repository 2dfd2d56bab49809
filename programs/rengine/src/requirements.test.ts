import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import * as results from "@rnode/eth-api/schemas";
import { deposit, l1Info, schemaFaults } from "@rnode/eth-api/testing";
import { createRpcClient, type JsonSchema, type RpcClient } from "@rnode/jsonrpc";
import { bytesToHex, toQuantity } from "@rnode/primitives";
import { resolveOptions } from "@rnode/program";
import { until } from "@rnode/program/testing";
import { encodeTransaction } from "@rnode/protocol";
import { privateKeyToAccount } from "viem/accounts";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { clientTable } from "./options.ts";
import { buildPackage } from "./testing/built-package.ts";
import { COUNTER_CREATION } from "./testing/counter.ts";
import { holdingToDescription } from "./testing/described-answers.ts";
import {
  CHAIN_ID,
  GENESIS,
  GENESIS_TIME_SEC,
  RICH_ADDRESS,
  RICH_KEY,
  startTestClient,
  type TestClient,
} from "./testing/test-client.ts";

type ProfileName = "R" | "G";
type Json = Record<string, unknown>;

const account = privateKeyToAccount(RICH_KEY);
const OTHER = "0x00000000000000000000000000000000000000aa";
const GAS_PRICE = 2_000_000_000n;
const ZERO = `0x${"00".repeat(32)}`;

/** A chain with a deposit, a creation, a transfer of each type, logs, and a pending transaction. */
interface Scene {
  readonly node: TestClient;
  /** also checks every answer against `rpc.discover` */
  readonly described: RpcClient;
  readonly counter: string;
  readonly deposit: string;
  /** another deposit, one that mints */
  readonly minting: string;
  readonly creation: string;
  readonly legacy: string;
  readonly market: string;
  readonly pending: string;
  readonly nextNonce: number;
}

async function setUp(profile: ProfileName, readers: number): Promise<Scene> {
  const node = await startTestClient([`--profile=${profile}`, `--rpc.workers=${readers}`]);
  let nonce = 0;
  const sign = (fields: object) =>
    account.signTransaction({ chainId: CHAIN_ID, gas: 200_000n, nonce: nonce++, ...fields } as Parameters<
      typeof account.signTransaction
    >[0]);
  const send = async (fields: object) => node.rpc.call<string>("eth_sendRawTransaction", [await sign(fields)]);
  const market = { type: "eip1559", maxFeePerGas: GAS_PRICE, maxPriorityFeePerGas: 10n };
  const creation = await send({ ...market, data: COUNTER_CREATION });
  await node.buildBlock();
  const { contractAddress: counter } = await node.rpc.call<{ contractAddress: string }>("eth_getTransactionReceipt", [creation]);
  const legacy = await send({ type: "legacy", gasPrice: GAS_PRICE, to: OTHER, value: 5n });
  const call = await send({ ...market, to: counter });
  const mint = deposit({ sourceHash: new Uint8Array(32).fill(0x77), mint: 9n });
  await node.buildBlock({ transactions: [bytesToHex(encodeTransaction(mint))] });
  const { transactions } = await node.rpc.call<{ transactions: string[] }>("eth_getBlockByNumber", ["latest", false]);
  const pending = await send({ ...market, to: OTHER });
  return {
    node,
    described: holdingToDescription(node.rpc),
    counter,
    deposit: transactions[0]!,
    minting: transactions[1]!,
    creation,
    legacy,
    market: call,
    pending,
    nextNonce: nonce,
  };
}

type ByProfile<T> = Readonly<Record<ProfileName, T>>;
const isByProfile = <T>(value: T | ByProfile<T>): value is ByProfile<T> =>
  typeof value === "object" && value !== null && "R" in value && "G" in value;
const of = <T>(value: T | ByProfile<T>, profile: ProfileName): T => (isByProfile(value) ? value[profile] : value);

/** The document's words for types, without the remarks in parentheses. */
const TYPES: Readonly<Record<string, JsonSchema>> = {
  Quantity: results.QUANTITY,
  Hash: results.HASH,
  Address: results.ADDRESS,
  Data: results.DATA,
  "Quantity / Data": { oneOf: [results.QUANTITY, results.DATA] },
  "Address or null": results.nullable(results.ADDRESS),
  "decimal string": { type: "string", pattern: "^[0-9]+(\\.[0-9]+)?$" },
  boolean: results.BOOLEAN,
  array: { type: "array" },
  "array of Hash": results.arrayOf(results.HASH),
  "array of Log": results.logs.schema,
  "array of Quantity": results.arrayOf(results.QUANTITY),
  "array of numbers": results.arrayOf({ type: "number" }),
  "array of arrays of Quantity": results.arrayOf(results.arrayOf(results.QUANTITY)),
  "array of nested frames": results.arrayOf({ type: "object" }),
  "`CALL`, `DELEGATECALL`, `STATICCALL` appear": { enum: ["CALL", "DELEGATECALL", "STATICCALL", "CREATE", "CREATE2"] },
};

/** A field: its type in the document's words, and the objects that have it. */
interface FieldRow {
  readonly type: string;
  readonly in: readonly string[] | ByProfile<readonly string[]>;
}
const rows = (type: string, where: FieldRow["in"], ...names: string[]): Record<string, FieldRow> =>
  Object.fromEntries(names.map((name) => [name, { type, in: where }]));

const KINDS = ["deposit", "legacy", "market"] as const;
const SIGNED = ["legacy", "market"];
const ALL = [...KINDS];
const R_ALL = { R: ALL, G: SIGNED };

const TRANSACTION: Readonly<Record<string, FieldRow>> = {
  ...rows("Quantity", ALL, "type", "blockNumber", "transactionIndex", "value", "gas", "gasPrice", "nonce", "v", "r", "s"),
  ...rows("Hash", ALL, "hash", "blockHash"),
  ...rows("Address", ALL, "from", "to"),
  ...rows("Data", ALL, "input"),
  ...rows("Quantity", SIGNED, "chainId"),
  ...rows("Quantity", { R: ["deposit", "market"], G: ["market"] }, "yParity"),
  ...rows("Quantity", ALL, "blockTimestamp"),
  ...rows("Hash", ["deposit"], "sourceHash"),
  ...rows("Quantity", { R: ["deposit", "minting"], G: ["minting"] }, "mint"),
  ...rows("Quantity", ["deposit"], "depositReceiptVersion"),
};
const RECEIPT: Readonly<Record<string, FieldRow>> = {
  ...rows(
    "Quantity",
    ALL,
    "type",
    "status",
    "cumulativeGasUsed",
    "gasUsed",
    "effectiveGasPrice",
    "transactionIndex",
    "blockNumber",
  ),
  ...rows("Quantity", R_ALL, "blobGasUsed"),
  ...rows("array of Log", ALL, "logs"),
  ...rows("Data", ALL, "logsBloom"),
  ...rows("Hash", ALL, "transactionHash", "blockHash"),
  ...rows("Address", ALL, "from", "to"),
  ...rows("Address or null", [...ALL, "creation"], "contractAddress"),
  ...rows("Quantity", ["deposit"], "depositNonce", "depositReceiptVersion"),
  ...rows("Quantity", R_ALL, "l1GasUsed", "l1GasPrice", "l1Fee"),
  ...rows("Quantity", R_ALL, "l1BaseFeeScalar", "l1BlobBaseFee", "l1BlobBaseFeeScalar", "daFootprintGasScalar"),
  ...rows("decimal string", ["old"], "l1FeeScalar"),
};
/** Both profiles have the fields that the document lists for one implementation only; the exception is the difficulty, which Reth omits. */
const BLOCK: Readonly<Record<string, FieldRow>> = {
  ...rows("Hash", ["block"], "hash", "parentHash"),
  ...rows("Quantity", ["block"], "number", "gasLimit", "gasUsed", "timestamp", "baseFeePerGas"),
  ...rows("Address", ["block"], "miner"),
  ...rows("array of Hash", ["block"], "transactions"),
  ...rows("array", ["block"], "withdrawals", "uncles"),
  ...rows("Hash", ["block"], "withdrawalsRoot", "parentBeaconBlockRoot", "requestsHash"),
  ...rows("Quantity", ["block"], "blobGasUsed", "excessBlobGas"),
  ...rows("Quantity / Data", ["block"], "difficulty", "size", "nonce"),
  ...rows("Quantity / Data", { R: [], G: ["block"] }, "totalDifficulty"),
  ...rows("Data", ["block"], "extraData", "logsBloom", "mixHash"),
  ...rows("Hash", ["block"], "receiptsRoot", "sha3Uncles", "stateRoot", "transactionsRoot"),
};
const LOG: Readonly<Record<string, FieldRow>> = {
  ...rows("Address", ["log"], "address"),
  ...rows("array of Hash", ["log"], "topics"),
  ...rows("Data", ["log"], "data"),
  ...rows("Quantity", ["log"], "blockNumber", "transactionIndex", "logIndex"),
  ...rows("Hash", ["log"], "transactionHash", "blockHash"),
  ...rows("boolean", ["log"], "removed"),
};
const FEE_HISTORY: Readonly<Record<string, FieldRow>> = {
  ...rows("Quantity", ["history"], "oldestBlock"),
  ...rows("array of Quantity", ["history"], "baseFeePerGas", "baseFeePerBlobGas"),
  ...rows("array of numbers", ["history"], "gasUsedRatio", "blobGasUsedRatio"),
  ...rows("array of arrays of Quantity", ["history"], "reward"),
};
const CALL_FRAME: Readonly<Record<string, FieldRow>> = {
  ...rows("Address", ["trace", "inner"], "from", "to"),
  ...rows("Quantity", ["trace", "inner"], "gas", "gasUsed", "value"),
  ...rows("Data", ["trace", "inner"], "input"),
  ...rows("Data", ["inner"], "output"),
  ...rows("`CALL`, `DELEGATECALL`, `STATICCALL` appear", ["trace", "inner"], "type"),
  ...rows("array of nested frames", ["trace"], "calls"),
};
const POOL_STATUS: Readonly<Record<string, FieldRow>> = rows("Quantity", ["pool"], "pending", "queued");

const RESOURCES: Readonly<Record<string, Readonly<Record<string, FieldRow>>>> = {
  Transaction: TRANSACTION,
  Receipt: RECEIPT,
  Block: BLOCK,
  Log: LOG,
  "Fee history": FEE_HISTORY,
  "Call trace frame": CALL_FRAME,
  "Txpool status": POOL_STATUS,
};

const counterOf = ({ counter }: Scene): string => counter.slice(2);
/** Calls the counter and returns its result. */
const CALLER = "0x00000000000000000000000000000000000000cc";
const callerCode = (scene: Scene): string => `0x60206000600160006000${"73"}${counterOf(scene)}5af100`;
const callTracer = { tracer: "callTracer" };
const tracedCall = (scene: Scene): unknown[] => [
  { to: CALLER },
  "latest",
  { ...callTracer, stateOverrides: { [CALLER]: { code: callerCode(scene) } } },
];

/** Objects that have the fields, under the names that the tables use. */
async function specimens(scene: Scene, old: Json): Promise<Readonly<Record<string, Readonly<Record<string, Json>>>>> {
  const { node, minting, creation, market, counter } = scene;
  const get = (method: string, ...params: unknown[]): Promise<Json> => node.rpc.call<Json>(method, params);
  const each = async (method: string): Promise<Record<string, Json>> =>
    Object.fromEntries(await Promise.all(KINDS.map(async (kind) => [kind, await get(method, scene[kind])] as const)));
  const trace = await get("debug_traceCall", ...tracedCall(scene));
  const [log] = (await get("eth_getLogs", { fromBlock: "0x0", address: counter })) as unknown as Json[];
  return {
    Transaction: { ...(await each("eth_getTransactionByHash")), minting: await get("eth_getTransactionByHash", minting) },
    Receipt: {
      ...(await each("eth_getTransactionReceipt")),
      creation: await get("eth_getTransactionReceipt", creation),
      old,
    },
    Block: { block: await get("eth_getBlockByHash", (await get("eth_getTransactionByHash", market)).blockHash, false) },
    Log: { log: log! },
    "Fee history": { history: await get("eth_feeHistory", "0x2", "latest", [25, 75]) },
    "Call trace frame": { trace, inner: (trace.calls as Json[])[0]! },
    "Txpool status": { pool: await get("txpool_status") },
  };
}

/** A receipt from a chain before the V2 fee model. */
async function oldReceipt(profile: ProfileName): Promise<Json> {
  const { optimism } = GENESIS.config;
  const config = { chainId: CHAIN_ID, bedrockBlock: 0, regolithTime: 0, optimism };
  const node = await startTestClient([`--profile=${profile}`], undefined, { config });
  try {
    const tx = { chainId: CHAIN_ID, type: "eip1559", nonce: 0, gas: 21_000n, maxFeePerGas: GAS_PRICE, to: OTHER } as const;
    const hash = await node.rpc.call<string>("eth_sendRawTransaction", [await account.signTransaction(tx)]);
    const choose = async (headBlockHash: unknown, attributes: object | null) => {
      const state = { headBlockHash, safeBlockHash: ZERO, finalizedBlockHash: ZERO };
      return node.engine.call<{ payloadId: string }>("engine_forkchoiceUpdatedV2", [state, attributes]);
    };
    const genesis = await node.engine.call<Json>("eth_getBlockByNumber", ["latest", false]);
    const { payloadId } = await choose(genesis.hash, {
      timestamp: toQuantity(GENESIS_TIME_SEC + 2),
      prevRandao: ZERO,
      suggestedFeeRecipient: OTHER,
      transactions: [bytesToHex(encodeTransaction(l1Info("bedrock")))],
      gasLimit: toQuantity(30_000_000),
    });
    const { executionPayload } = await node.engine.call<{ executionPayload: Json }>("engine_getPayloadV2", [payloadId]);
    expect(await node.engine.call("engine_newPayloadV2", [executionPayload])).toMatchObject({ status: "VALID" });
    await choose(executionPayload.blockHash, null);
    return await node.rpc.call<Json>("eth_getTransactionReceipt", [hash]);
  } finally {
    await node.remove();
  }
}

/** A result that the document only names, and its schema. */
const named = (resource: string): JsonSchema => ({
  type: "object",
  properties: Object.fromEntries(Object.entries(RESOURCES[resource]!).map(([name, { type }]) => [name, TYPES[type]!])),
  additionalProperties: {},
});
const RESULTS: Readonly<Record<string, JsonSchema | ByProfile<JsonSchema>>> = {
  Quantity: results.QUANTITY,
  Hash: results.HASH,
  Data: results.DATA,
  "Data (32 bytes)": results.HASH,
  string: results.TEXT,
  "object or false": { R: results.syncing.schema, G: { const: false } },
  "array of Log": results.logs.schema,
  "error -32601 in implementation R": { R: { not: {} }, G: results.modules.schema },
  ...Object.fromEntries(Object.keys(RESOURCES).map((name) => [name, named(name)])),
};

interface MethodRow {
  /** in the document's words */
  readonly result: keyof typeof RESULTS;
  readonly params: (scene: Scene) => unknown[] | Promise<unknown[]>;
  /** a check beyond the type */
  readonly check?: (result: never, scene: Scene) => void;
}

const STAGES = ["Headers", "Bodies", "Execution", "MerkleExecute", "Finish"];
const NO_METHOD = { code: -32601, message: "Method not found" };

/** The rows of "Execution client methods (HTTP and WebSocket)" that are requests. */
const METHODS: Readonly<Record<string, MethodRow>> = {
  eth_blockNumber: { result: "Quantity", params: () => [], check: (number) => expect(number).toBe("0x2") },
  eth_chainId: { result: "Quantity", params: () => [], check: (id) => expect(id).toBe(toQuantity(CHAIN_ID)) },
  eth_syncing: {
    result: "object or false",
    params: () => [],
    check: (status: { stages?: { name: string; block: string }[] } | false) => {
      if (status !== false) expect(status.stages!.map(({ name }) => name)).toEqual(expect.arrayContaining(STAGES));
    },
  },
  eth_getBalance: { result: "Quantity", params: () => [OTHER, "latest"], check: (wei) => expect(wei).toBe("0x5") },
  eth_getTransactionByHash: {
    result: "Transaction",
    params: ({ deposit }) => [deposit],
    check: (shown, { deposit }) => expect(shown).toMatchObject({ hash: deposit, type: "0x7e" }),
  },
  eth_getTransactionReceipt: {
    result: "Receipt",
    params: ({ market }) => [market],
    check: (shown, { market }) => expect(shown).toMatchObject({ transactionHash: market, status: "0x1" }),
  },
  eth_call: {
    result: "Data",
    params: ({ counter }) => [{ to: counter, data: "0x00" }, "latest"],
    check: (output) => expect(BigInt(output)).toBe(1n),
  },
  eth_estimateGas: {
    result: "Quantity",
    params: () => [{ from: RICH_ADDRESS, to: OTHER, value: "0x1" }],
    check: (gas) => expect(gas).toBe("0x5208"),
  },
  eth_sendRawTransaction: {
    result: "Hash",
    params: async ({ nextNonce: nonce }) => [
      await account.signTransaction({ chainId: CHAIN_ID, type: "legacy", gasPrice: GAS_PRICE, gas: 21_000n, nonce, to: OTHER }),
    ],
  },
  eth_getBlockByNumber: {
    result: "Block",
    params: () => ["0x2", false],
    check: (block) => expect(block).toMatchObject({ number: "0x2" }),
  },
  eth_getLogs: {
    result: "array of Log",
    params: ({ counter }) => [{ fromBlock: "0x0", toBlock: "latest", address: counter }],
    check: (logs: unknown[]) => expect(logs).toHaveLength(1),
  },
  eth_gasPrice: { result: "Quantity", params: () => [] },
  eth_maxPriorityFeePerGas: { result: "Quantity", params: () => [] },
  eth_feeHistory: {
    result: "Fee history",
    params: () => ["0x2", "latest", [25, 75]],
    check: (history: { baseFeePerGas: string[]; gasUsedRatio: number[]; reward: string[][] }) => {
      expect([history.baseFeePerGas, history.gasUsedRatio, history.reward].map(({ length }) => length)).toEqual([3, 2, 2]);
      for (const entry of history.reward) expect(entry).toHaveLength(2);
    },
  },
  eth_getCode: { result: "Data", params: ({ counter }) => [counter, "latest"], check: (code) => expect(code).not.toBe("0x") },
  eth_getStorageAt: {
    result: "Data (32 bytes)",
    params: ({ counter }) => [counter, "0x0", "latest"],
    check: (word) => expect(BigInt(word)).toBe(1n),
  },
  eth_getTransactionCount: {
    result: "Quantity",
    params: () => [RICH_ADDRESS, "latest"],
    check: (nonce) => expect(nonce).toBe("0x3"),
  },
  txpool_status: {
    result: "Txpool status",
    params: () => [],
    check: ({ pending }: { pending: string }) => expect(Number(pending)).toBeGreaterThanOrEqual(1),
  },
  debug_traceTransaction: {
    result: "Call trace frame",
    params: ({ market }) => [market, callTracer],
    check: (frame, { counter }) => expect(frame).toMatchObject({ type: "CALL", to: counter, from: RICH_ADDRESS }),
  },
  debug_traceCall: {
    result: "Call trace frame",
    params: tracedCall,
    check: (frame, { counter }) => expect(frame).toMatchObject({ to: CALLER, calls: [{ type: "CALL", to: counter }] }),
  },
  web3_clientVersion: { result: "string", params: () => [], check: (version) => expect(version).toMatch(/^rengine\//) },
  rpc_modules: { result: "error -32601 in implementation R", params: () => [] },
};
/** Rows about subscriptions, which are tested over WebSocket below. */
const OVER_WEBSOCKET: Readonly<Record<string, string>> = { eth_subscribe: "subscription id string", eth_unsubscribe: "not shown" };
const TOPICS = ["newHeads", "logs", "newPendingTransactions", "syncing"];

/** The error rows. */
const ERRORS: readonly {
  method: string;
  code: number;
  message: string;
  params: readonly unknown[];
  elsewhere: number | undefined;
}[] = [
  {
    method: "eth_sendRawTransaction",
    code: -32602,
    message: "failed to decode signed transaction",
    params: ["0xdeadbeef"],
    elsewhere: -32602, // and not Geth's own code
  },
  { method: "rpc_modules", ...NO_METHOD, params: [], elsewhere: undefined },
];

/** "Differences between implementations", by topic. */
const DIFFERENCES: Readonly<Record<string, (scene: Scene, profile: ProfileName, old: Json) => Promise<void>>> = {
  async eth_syncing({ node }, profile) {
    const status = await node.rpc.call<Json | false>("eth_syncing");
    if (profile === "G") expect(status).toBe(false);
    else
      expect(status).toMatchObject({ startingBlock: "0x0", currentBlock: "0x2", highestBlock: "0x2", stages: expect.any(Array) });
  },
  async rpc_modules({ node }, profile) {
    if (profile === "R") await expect(node.rpc.call("rpc_modules")).rejects.toMatchObject(NO_METHOD);
    else expect(await node.rpc.call("rpc_modules")).toMatchObject({ eth: "1.0", debug: "1.0", rpc: "1.0" });
  },
  async "trace_ namespace"({ node }, profile) {
    await expect(node.rpc.call("trace_block", ["latest"])).rejects.toMatchObject({ code: -32601 }); // not listed
    const listed = await startTestClient([`--profile=${profile}`, "--http.api=eth,trace"]);
    try {
      const answer = listed.rpc.call("trace_block", ["latest"]);
      if (profile === "R") expect(await answer).toEqual([]);
      else await expect(answer).rejects.toMatchObject({ code: -32601 });
    } finally {
      await listed.remove();
    }
  },
  async "receipt L1 scalars"({ node, market }, _, old) {
    const v2 = await node.rpc.call<Json>("eth_getTransactionReceipt", [market]);
    for (const field of ["l1BaseFeeScalar", "l1BlobBaseFee", "l1BlobBaseFeeScalar"]) expect(v2).toHaveProperty(field);
    expect(v2).not.toHaveProperty("l1FeeScalar");
    expect(old).toMatchObject({ l1FeeScalar: "0.684" });
    expect(old).not.toHaveProperty("l1BlobBaseFee");
  },
};

/** "Authentication", by number, as far as it concerns the execution client. */
const AUTHENTICATION: Readonly<
  Record<number, ((scene: Scene, profile: ProfileName) => Promise<void>) | "of the rollup node" | "not shown">
> = {
  async 1({ node }) {
    const { enginePort, jwtSecretPath } = node.client;
    const url = `http://127.0.0.1:${enginePort}`;
    const secret = readFileSync(jwtSecretPath, "utf8").trim();
    expect(secret).toMatch(/^(0x)?[0-9a-f]{64}$/);
    const ask = async (headers: Record<string, string>): Promise<number> => {
      const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "engine_exchangeCapabilities", params: [[]] });
      return (await fetch(url, { method: "POST", headers: { "content-type": "application/json", ...headers }, body })).status;
    };
    expect([await ask({}), await ask({ authorization: "Bearer a.b.c" })]).toEqual([401, 401]);
    const other = createRpcClient({ url, jwtSecret: new Uint8Array(32).fill(1) });
    await expect(other.call("eth_chainId")).rejects.toMatchObject({ code: "rpc/http-status" });
    await other.close();
    expect(await node.engine.call("engine_exchangeCapabilities", [[]])).toContain("engine_newPayloadV4");
  },
  2: "of the rollup node",
  3: "of the rollup node",
  async 4(_, profile) {
    const plain = await startTestClient([`--profile=${profile}`, "--http.api=eth,net,web3"]);
    try {
      const served = (await plain.rpc.call<{ methods: { name: string }[] }>("rpc.discover")).methods.map(({ name }) => name);
      expect(served.filter((name) => /^(debug|txpool|trace)_/.test(name))).toEqual([]);
      for (const method of ["txpool_status", "debug_traceTransaction", "trace_block"])
        await expect(plain.rpc.call(method, [])).rejects.toMatchObject({ code: -32601 });
      expect(await plain.rpc.call("net_version")).toBe(String(CHAIN_ID));
    } finally {
      await plain.remove();
    }
  },
  5: "of the rollup node",
  6: "not shown", // advice to operators
  7: "not shown",
  8: "not shown",
};

/** Options of the execution client that the document names; options.test.ts tests their effects. */
const OPTIONS = [
  ...["chain", "datadir", "http", "http.addr", "http.port", "http.api", "ws", "ws.addr", "ws.port", "ws.api"],
  ...["authrpc.addr", "authrpc.port", "authrpc.jwtsecret", "rollup.sequencer-http", "rollup.disable-tx-pool-gossip"],
];

const testRequirements = (profile: "R" | "G", readers: number): void => {
  let scene: Scene;
  let old: Json;
  let shown: Awaited<ReturnType<typeof specimens>>;
  beforeAll(async () => {
    if (readers > 0) buildPackage();
    scene = await setUp(profile, readers);
    old = await oldReceipt(profile);
    shown = await specimens(scene, old);
  });
  afterAll(() => scene.node.remove());

  it.each(Object.entries(METHODS))("%s", async (method, { params, result: type, check }) => {
    const schema = of<JsonSchema>(RESULTS[type]!, profile);
    const answer = scene.described.call(method, await params(scene));
    if ("not" in schema) {
      await expect(answer).rejects.toMatchObject(NO_METHOD);
      return;
    }
    const result = await answer;
    expect(result).not.toBeNull();
    expect(schemaFaults(schema, result)).toEqual([]);
    check?.(result as never, scene);
  });

  const fields = Object.entries(RESOURCES).flatMap(([resource, table]) =>
    Object.entries(table).map(([field, row]) => [resource, field, row] as const),
  );
  it.each(fields)("%s.%s", (resource, field, { type, in: where }) => {
    for (const kind of of(where, profile)) {
      const answer = shown[resource]![kind]!;
      expect([kind, field in answer]).toEqual([kind, true]);
      expect([kind, schemaFaults(TYPES[type]!, answer[field])]).toEqual([kind, []]);
    }
  });

  it("no field is without an answer that has it, in one of the profiles at least", () => {
    for (const [resource, field, { in: where }] of fields)
      expect([resource, field, [...of(where, "R"), ...of(where, "G")].length > 0]).toEqual([resource, field, true]);
  });

  it("receipts: the L1 fee of users is above zero, that of deposits zero; a contract only where one is created", () => {
    const { deposit, creation, ...users } = shown.Receipt!;
    for (const receipt of [creation!, ...Object.values(users)]) expect(BigInt(receipt.l1Fee as string)).toBeGreaterThan(0n);
    expect(deposit).toMatchObject({ status: "0x1", type: "0x7e", ...(profile === "R" && { l1Fee: "0x0" }) });
    expect(creation!.contractAddress).toBe(scene.counter);
    for (const receipt of [deposit!, ...Object.values(users)]) expect(receipt.contractAddress).toBeNull();
    for (const receipt of [deposit!, users.market!]) expect(receipt.logsBloom).toHaveLength(2 + 2 * 256);
  });

  it("transactions and blocks: types, and hashes or objects", async () => {
    const { deposit, legacy, market } = shown.Transaction!;
    expect([deposit, legacy, market].map((tx) => tx!.type)).toEqual(["0x7e", "0x0", "0x2"]);
    expect(shown.Block!.block!.transactions).toEqual([scene.deposit, scene.minting, scene.legacy, scene.market]);
    const full = await scene.node.rpc.call<Json>("eth_getBlockByNumber", ["0x2", true]);
    expect(schemaFaults(results.BLOCK, full)).toEqual([]);
    expect((full.transactions as Json[]).map(({ hash }) => hash)).toEqual(shown.Block!.block!.transactions);
  });

  it.each(ERRORS)("error of $method", async ({ method, params, code, message, elsewhere }) => {
    const answer = scene.node.rpc.call(method, params);
    if (profile === "R") await expect(answer).rejects.toMatchObject({ code, message });
    else if (elsewhere !== undefined) await expect(answer).rejects.toMatchObject({ code: elsewhere });
    else expect(await answer).toBeDefined();
  });

  it.each(Object.entries(DIFFERENCES))("difference: %s", (_, test) => test(scene, profile, old));

  it.each(Object.entries(AUTHENTICATION).filter(([, test]) => typeof test === "function"))("authentication %s", async (_, test) => {
    if (typeof test === "function") await test(scene, profile);
  });

  it("subscriptions: acknowledgement, notifications, unsubscribing", async () => {
    const socket = new WebSocket(scene.node.wsUrl);
    const received: Json[] = [];
    socket.addEventListener("message", ({ data }) => void received.push(JSON.parse(data as string) as Json));
    await new Promise((resolve) => socket.addEventListener("open", resolve));
    let id = 0;
    const call = async (method: string, params: unknown[]): Promise<Json> => {
      const own = ++id;
      socket.send(JSON.stringify({ jsonrpc: "2.0", id: own, method, params }));
      return until(() => received.find((message) => message.id === own));
    };
    const ids = new Map<string, string>();
    for (const topic of TOPICS) {
      const answer = await call("eth_subscribe", topic === "logs" ? [topic, { address: scene.counter, topics: [] }] : [topic]);
      expect(answer).toEqual({ jsonrpc: "2.0", id, result: expect.stringMatching(/^0x[0-9a-f]+$/) });
      ids.set(topic, answer.result as string);
    }
    const notified = (topic: string): Promise<unknown> =>
      until(() => {
        const found = received.find(
          ({ method, params }) => method === "eth_subscription" && (params as Json).subscription === ids.get(topic),
        );
        return found === undefined ? undefined : (found.params as Json).result;
      });
    const { node, counter } = scene;
    const nonce = Number(await node.rpc.call<string>("eth_getTransactionCount", [RICH_ADDRESS, "pending"]));
    const transaction = { chainId: CHAIN_ID, type: "legacy", gasPrice: GAS_PRICE, gas: 100_000n, nonce, to: counter } as const;
    const hash = await node.rpc.call<string>("eth_sendRawTransaction", [await account.signTransaction(transaction as never)]);
    expect(await notified("newPendingTransactions")).toBe(hash);
    await node.buildBlock();
    const header = (await notified("newHeads")) as Json;
    expect(schemaFaults(results.HEADER, header)).toEqual([]);
    for (const [field, type] of Object.entries({
      hash: "Hash",
      number: "Quantity",
      timestamp: "Quantity",
      baseFeePerGas: "Quantity",
    }))
      expect([field, schemaFaults(TYPES[type]!, header[field])]).toEqual([field, []]);
    expect(schemaFaults(named("Log"), await notified("logs"))).toEqual([]);
    for (const subscription of ids.values()) expect(await call("eth_unsubscribe", [subscription])).toMatchObject({ result: true });
    const again = await call("eth_unsubscribe", [ids.get("newHeads")]);
    expect(again).toMatchObject(profile === "R" ? { result: false } : { error: { message: "subscription not found" } });
    socket.close();
  });

  it("describes every method of the listener, as it reads and answers it", async () => {
    const { methods } = await scene.node.rpc.call<{
      methods: { name: string; params: { name: string; required: boolean; schema: Json }[]; result: { schema: JsonSchema } }[];
    }>("rpc.discover");
    const names = methods.map(({ name }) => name);
    const served = Object.keys(METHODS).filter((name) => !(name === "rpc_modules" && profile === "R"));
    expect(names).toEqual(expect.arrayContaining(served));
    expect(methods.filter(({ result }) => Object.keys(result.schema).length === 0)).toEqual([]);
    expect(methods.flatMap(({ params }) => params.filter(({ name, schema }) => name === "" || schema === undefined))).toEqual([]);
    // Without parameters, a method that requires some says so, and one that requires none answers as described.
    for (const { name, params, result } of methods) {
      if (name === "rpc.discover") continue;
      const needed = params.filter(({ required }) => required);
      if (needed.length > 0) await expect(scene.node.rpc.call(name)).rejects.toMatchObject({ code: -32602 });
      else if (!("not" in result.schema)) expect(schemaFaults(result.schema, await scene.node.rpc.call(name)), name).toEqual([]);
    }
  });
};
describe("requirements, profile R, no readers", () => testRequirements("R", 0));
describe("requirements, profile G, one reader", () => testRequirements("G", 1));
describe("requirements, profile R, two readers", { tags: "long" }, () => testRequirements("R", 2));
describe("requirements, profile G, no readers", { tags: "long" }, () => testRequirements("G", 0));
const document = [process.env.RNODE_REQUIREMENTS, join(import.meta.dirname, "../../../../shared/requirements.md")].find(
  (path) => path !== undefined && existsSync(path),
);

describe.skipIf(document === undefined)("the document's tables", () => {
  const text = document === undefined ? "" : readFileSync(document, "utf8");
  /** The text under the heading that starts like this. @throws Error when there is none */
  const section = (heading: string): string => {
    const from = text.search(new RegExp(`^#+ ${heading.replaceAll(/[()]/g, String.raw`\$&`)}`, "m"));
    if (from === -1) throw new Error(`the document has no section ${heading}`);
    return text.slice(from).split(/\n#+ /, 2)[0]!;
  };
  /** The rows of its table as lists of cells. @throws Error when there is no table, or an empty one */
  const tableOf = (heading: string): string[][] => {
    const lines = section(heading)
      .split("\n")
      .filter((line) => line.startsWith("|"));
    const cells = lines.slice(2).map((line) =>
      line
        .split("|")
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );
    if (cells.length === 0) throw new Error(`${heading}: no rows`);
    return cells;
  };
  /** A type without the remarks in parentheses. */
  const bare = (type: string): string => type.replace(/ \([^)]*\)$/, "");
  const own = (resource: string): Record<string, string> =>
    Object.fromEntries(Object.entries(RESOURCES[resource]!).map(([name, { type }]) => [name, type]));

  it.each(["Transaction", "Receipt", "Block"])("%s: each field has a row here, with its type", (resource) => {
    const given = Object.fromEntries(
      tableOf(`${resource} (execution client)`).flatMap(([names, type]) => names!.split(", ").map((name) => [name, bare(type!)])),
    );
    expect(own(resource)).toEqual(given);
  });

  it.each(["Log", "Fee history", "Call trace frame", "Txpool status"])(
    "%s: each field has a row here, with its type",
    (resource) => {
      const fields = section(resource)
        .split("Fields: ")[1]!
        .replace(/\.\s*$/, "");
      // `a (T), b, c (U; …)`: a name without a type has the type of the next name that has one
      const given: Record<string, string> = {};
      let names: string[] = [];
      for (const [, name, type] of fields.matchAll(/(\w+)(?: \(((?:[^()]|\([^()]*\))*)\))?(?:[,;] |$)/g)) {
        names.push(name!);
        if (type === undefined) continue;
        for (const one of names) given[one] = type.split(/[;,] (?=output|one )/)[0]!;
        names = [];
      }
      expect(names).toEqual([]);
      expect(own(resource)).toEqual(given);
    },
  );

  it("methods: each has a row here, with its result", () => {
    const given = Object.fromEntries(tableOf("Execution client methods").map(([method, , result]) => [method, result]));
    const covered = Object.entries(METHODS).map(([method, { result }]) => [method, result]);
    expect({ ...Object.fromEntries(covered), ...OVER_WEBSOCKET }).toEqual(given);
  });

  it("events: each topic is subscribed to", () => {
    expect(tableOf("Events").map(([topic]) => topic)).toEqual(TOPICS);
  });

  it("errors: each has a row here, with its code and message", () => {
    const given = tableOf("Errors").map(([, method, code, message]) => ({ method, code: Number(code), message }));
    expect(ERRORS.map(({ method, code, message }) => ({ method, code, message }))).toEqual(given);
  });

  it("differences between the implementations: each is tested", () => {
    expect(tableOf("Differences between implementations").map(([topic]) => topic)).toEqual(Object.keys(DIFFERENCES));
    expect(tableOf("Sync status (execution client").map(([implementation]) => implementation)).toEqual(["G", "R"]);
  });

  it("authentication: each point is tested, or is not the execution client's", () => {
    const points = [...section("Authentication").matchAll(/^(\d+)\. (.*)$/gm)];
    expect(points.map(([, number]) => number)).toEqual(Object.keys(AUTHENTICATION));
    for (const [, number, words] of points) {
      const kind = AUTHENTICATION[Number(number)]!;
      if (/not shown/.test(words!)) expect([number, kind]).toEqual([number, "not shown"]);
      if (typeof kind === "function")
        expect([number, words]).toEqual([number, expect.stringMatching(/[Ee]xecution client|API list option/)]);
    }
  });

  it("options: each is one of ours, and its default port the document's", () => {
    const conventions = section("Transport and conventions");
    const flags = [...conventions.matchAll(/`--([a-z.-]+)`/g)].map(([, flag]) => flag!);
    expect([...new Set(flags)].sort()).toEqual([...OPTIONS].sort());
    const declared = new Map(resolveOptions(clientTable).map(({ flag, declaration }) => [flag, declaration]));
    for (const flag of flags) expect([flag, declared.has(flag)]).toEqual([flag, true]);
    const [, http, ws] = /HTTP (\d+), WebSocket (\d+)/.exec(conventions) ?? [];
    expect([declared.get("http.port")!.default, declared.get("ws.port")!.default]).toEqual([Number(http), Number(ws)]);
  });
});
