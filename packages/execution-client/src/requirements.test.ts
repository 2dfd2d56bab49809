import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { JsonSchema, RpcClient } from "@rnode/jsonrpc";
import { toQuantity } from "@rnode/primitives";
import { privateKeyToAccount } from "viem/accounts";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import * as results from "./methods/results.ts";
import { buildPackage } from "./testing/built-package.ts";
import { COUNTER_CREATION } from "./testing/counter.ts";
import { holdingToDescription } from "./testing/described-answers.ts";
import { schemaFaults } from "./testing/json-schema.ts";
import { CHAIN_ID, RICH_ADDRESS, RICH_KEY, startTestClient, type TestClient } from "./testing/test-client.ts";

type ProfileName = "R" | "G";
type Json = Record<string, unknown>;

const account = privateKeyToAccount(RICH_KEY);
const OTHER = "0x00000000000000000000000000000000000000aa";
const GAS_PRICE = 2_000_000_000n;

/** A chain with a deposit, a creation, a transfer of each type, logs, and a transaction that waits. */
interface Scene {
  readonly node: TestClient;
  /** each answer is also as `rpc.discover` says */
  readonly described: RpcClient;
  readonly counter: string;
  readonly deposit: string;
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
  await node.buildBlock();
  const { transactions } = await node.rpc.call<{ transactions: string[] }>("eth_getBlockByNumber", ["latest", false]);
  const pending = await send({ ...market, to: OTHER });
  return {
    node,
    described: holdingToDescription(node.rpc),
    counter,
    deposit: transactions[0]!,
    creation,
    legacy,
    market: call,
    pending,
    nextNonce: nonce,
  };
}

interface MethodRow {
  readonly params: (scene: Scene) => unknown[] | Promise<unknown[]>;
  readonly schema: JsonSchema | Readonly<Record<ProfileName, JsonSchema | { readonly error: number }>>;
  /** beyond the schema */
  readonly check?: (result: never, scene: Scene) => void;
}

/** What the document names; the description of the methods says more. */
const CALL_FRAME: JsonSchema = {
  type: "object",
  required: ["from", "to", "gas", "gasUsed", "value", "input", "type"],
  properties: {
    from: results.ADDRESS,
    to: results.ADDRESS,
    gas: results.QUANTITY,
    gasUsed: results.QUANTITY,
    value: results.QUANTITY,
    input: results.DATA,
    output: results.DATA,
    type: { enum: ["CALL", "DELEGATECALL", "STATICCALL", "CREATE", "CREATE2"] },
    calls: { type: "array" },
  },
};
const STAGES = ["Headers", "Bodies", "Execution", "MerkleExecute", "Finish"];
const callTracer = { tracer: "callTracer" };

/** The rows of "Execution client methods (HTTP and WebSocket)" that are requests. */
const METHODS: Readonly<Record<string, MethodRow>> = {
  eth_blockNumber: { params: () => [], schema: results.QUANTITY, check: (number) => expect(number).toBe("0x2") },
  eth_chainId: { params: () => [], schema: results.QUANTITY, check: (id) => expect(id).toBe(toQuantity(CHAIN_ID)) },
  eth_syncing: {
    params: () => [],
    schema: { R: results.syncing.schema, G: { const: false } },
    check: (status: { stages?: { name: string; block: string }[] } | false) => {
      if (status !== false) expect(status.stages!.map(({ name }) => name)).toEqual(expect.arrayContaining(STAGES));
    },
  },
  eth_getBalance: { params: () => [OTHER, "latest"], schema: results.QUANTITY, check: (wei) => expect(wei).toBe("0x5") },
  eth_getTransactionByHash: { params: ({ deposit }) => [deposit], schema: results.TRANSACTION },
  eth_getTransactionReceipt: { params: ({ market }) => [market], schema: results.RECEIPT },
  eth_call: {
    params: ({ counter }) => [{ to: counter, data: "0x00" }, "latest"],
    schema: results.DATA,
    check: (output) => expect(BigInt(output)).toBe(1n),
  },
  eth_estimateGas: {
    params: () => [{ from: RICH_ADDRESS, to: OTHER, value: "0x1" }],
    schema: results.QUANTITY,
    check: (gas) => expect(gas).toBe("0x5208"),
  },
  eth_sendRawTransaction: {
    params: async ({ nextNonce }) => [
      await account.signTransaction({
        chainId: CHAIN_ID,
        type: "legacy",
        gasPrice: GAS_PRICE,
        gas: 21_000n,
        nonce: nextNonce,
        to: OTHER,
      }),
    ],
    schema: results.HASH,
  },
  eth_getBlockByNumber: { params: () => ["0x2", false], schema: results.BLOCK },
  eth_getLogs: {
    params: ({ counter }) => [{ fromBlock: "0x0", toBlock: "latest", address: counter }],
    schema: results.logs.schema,
    check: (logs: unknown[]) => expect(logs).toHaveLength(1),
  },
  eth_gasPrice: { params: () => [], schema: results.QUANTITY },
  eth_maxPriorityFeePerGas: { params: () => [], schema: results.QUANTITY },
  eth_feeHistory: {
    params: () => ["0x2", "latest", [25, 75]],
    schema: results.feeHistory.schema,
    check: (history: { baseFeePerGas: string[]; gasUsedRatio: number[]; reward: string[][] }) => {
      expect([history.baseFeePerGas, history.gasUsedRatio, history.reward].map(({ length }) => length)).toEqual([3, 2, 2]);
      for (const entry of history.reward) expect(entry).toHaveLength(2);
    },
  },
  eth_getCode: { params: ({ counter }) => [counter, "latest"], schema: results.DATA, check: (code) => expect(code).not.toBe("0x") },
  eth_getStorageAt: {
    params: ({ counter }) => [counter, "0x0", "latest"],
    schema: results.HASH,
    check: (word) => expect(BigInt(word)).toBe(1n),
  },
  eth_getTransactionCount: {
    params: () => [RICH_ADDRESS, "latest"],
    schema: results.QUANTITY,
    check: (nonce) => expect(nonce).toBe("0x3"),
  },
  txpool_status: {
    params: () => [],
    schema: results.poolStatus.schema,
    check: ({ pending }: { pending: string }) => expect(Number(pending)).toBeGreaterThanOrEqual(1),
  },
  debug_traceTransaction: { params: ({ market }) => [market, callTracer], schema: CALL_FRAME },
  debug_traceCall: { params: ({ counter }) => [{ to: counter, data: "0x00" }, "latest", callTracer], schema: CALL_FRAME },
  web3_clientVersion: { params: () => [], schema: { type: "string", pattern: "^rengine/" } },
  rpc_modules: { params: () => [], schema: { R: { error: -32601 }, G: results.modules.schema } },
};
/** Rows about subscriptions: tested over WebSocket below. */
const OVER_WEBSOCKET = ["eth_subscribe", "eth_unsubscribe"];
const TOPICS = ["newHeads", "logs", "newPendingTransactions", "syncing"];

/** The error rows. `undefined`: any words. */
const ERRORS: readonly {
  readonly method: string;
  readonly params: readonly unknown[];
  readonly expected: Readonly<Partial<Record<ProfileName, { readonly code: number; readonly message: string }>>>;
}[] = [
  {
    method: "eth_sendRawTransaction",
    params: ["0xdeadbeef"],
    expected: { R: { code: -32602, message: "failed to decode signed transaction" } },
  },
  { method: "rpc_modules", params: [], expected: { R: { code: -32601, message: "Method not found" } } },
];

/** Fields of the resources by what the document calls them, and where they are to be seen. */
const TRANSACTION_FIELDS: Readonly<Record<string, readonly ("deposit" | "legacy" | "market")[]>> = {
  type: ["deposit", "legacy", "market"],
  hash: ["deposit", "legacy", "market"],
  blockHash: ["deposit", "legacy", "market"],
  blockNumber: ["deposit", "legacy", "market"],
  transactionIndex: ["deposit", "legacy", "market"],
  from: ["deposit", "legacy", "market"],
  to: ["deposit", "legacy", "market"],
  value: ["deposit", "legacy", "market"],
  gas: ["deposit", "legacy", "market"],
  gasPrice: ["deposit", "legacy", "market"],
  input: ["deposit", "legacy", "market"],
  nonce: ["deposit", "legacy", "market"],
  v: ["deposit", "legacy", "market"],
  r: ["deposit", "legacy", "market"],
  s: ["deposit", "legacy", "market"],
  chainId: ["legacy", "market"],
  yParity: ["market"],
  blockTimestamp: [],
  sourceHash: ["deposit"],
  mint: [],
  depositReceiptVersion: ["deposit"],
};
/** Of deposits of implementation R only. */
const R_DEPOSIT_FIELDS = ["yParity", "blockTimestamp", "mint"];
const RECEIPT_FIELDS =
  "type status cumulativeGasUsed gasUsed effectiveGasPrice logs logsBloom transactionHash blockHash transactionIndex blockNumber from to contractAddress l1GasUsed l1GasPrice l1Fee l1BaseFeeScalar l1BlobBaseFee l1BlobBaseFeeScalar daFootprintGasScalar".split(
    " ",
  );
const DEPOSIT_RECEIPT_FIELDS = ["depositNonce", "depositReceiptVersion"];
const BLOCK_FIELDS =
  "hash parentHash number gasLimit gasUsed timestamp baseFeePerGas miner transactions withdrawals withdrawalsRoot parentBeaconBlockRoot requestsHash blobGasUsed excessBlobGas difficulty size nonce extraData logsBloom mixHash receiptsRoot sha3Uncles stateRoot transactionsRoot uncles".split(
    " ",
  );

describe.each([
  ["R", 0],
  ["R", 2],
  ["G", 0],
  ["G", 1],
] as const)("requirements, profile %s, %i readers", (profile, readers) => {
  let scene: Scene;
  beforeAll(async () => {
    if (readers > 0) buildPackage();
    scene = await setUp(profile, readers);
  });
  afterAll(() => scene.node.remove());

  it.each(Object.entries(METHODS))("%s", async (method, { params, schema, check }) => {
    const own = (typeof schema === "object" && "R" in schema ? schema[profile] : schema) as JsonSchema | { error: number };
    const answer = scene.described.call(method, await params(scene));
    if ("error" in own) {
      await expect(answer).rejects.toMatchObject({ code: own.error });
      return;
    }
    const result = await answer;
    expect(schemaFaults(own, result)).toEqual([]);
    check?.(result as never, scene);
  });

  it("transactions: every field of every type", async () => {
    for (const kind of ["deposit", "legacy", "market"] as const) {
      const shown = await scene.node.rpc.call<Json>("eth_getTransactionByHash", [scene[kind]]);
      expect(schemaFaults(results.TRANSACTION, shown)).toEqual([]);
      const fields = Object.keys(TRANSACTION_FIELDS).filter((field) => TRANSACTION_FIELDS[field]!.includes(kind));
      const more = profile === "R" && kind === "deposit" ? R_DEPOSIT_FIELDS : [];
      expect(Object.keys(shown)).toEqual(expect.arrayContaining([...fields, ...more]));
      expect(shown.type).toBe({ deposit: "0x7e", legacy: "0x0", market: "0x2" }[kind]);
    }
  });

  it("receipts: every field; the L1 fee of users is above zero, that of deposits zero", async () => {
    for (const kind of ["creation", "legacy", "market"] as const) {
      const shown = await scene.node.rpc.call<Json>("eth_getTransactionReceipt", [scene[kind]]);
      expect(schemaFaults(results.RECEIPT, shown)).toEqual([]);
      expect(Object.keys(shown)).toEqual(expect.arrayContaining(RECEIPT_FIELDS));
      expect(shown).not.toHaveProperty("l1FeeScalar"); // absent on V2 chains
      expect(BigInt(shown.l1Fee as string)).toBeGreaterThan(0n);
      expect(shown.contractAddress === null).toBe(kind !== "creation");
    }
    const deposit = await scene.node.rpc.call<Json>("eth_getTransactionReceipt", [scene.deposit]);
    expect(schemaFaults(results.RECEIPT, deposit)).toEqual([]);
    expect(Object.keys(deposit)).toEqual(expect.arrayContaining(DEPOSIT_RECEIPT_FIELDS));
    expect(deposit.status).toBe("0x1");
    if (profile === "R") expect(deposit).toMatchObject({ l1Fee: "0x0", blobGasUsed: expect.stringMatching(/^0x/) });
  });

  it("blocks: every field; hashes or objects", async () => {
    const block = await scene.node.rpc.call<Json>("eth_getBlockByNumber", ["0x2", false]);
    expect(Object.keys(block)).toEqual(expect.arrayContaining(BLOCK_FIELDS));
    if (profile === "G") expect(block).toHaveProperty("totalDifficulty");
    expect(block.transactions).toEqual([scene.deposit, scene.legacy, scene.market]);
    const full = await scene.node.rpc.call<Json>("eth_getBlockByNumber", ["0x2", true]);
    expect(schemaFaults(results.BLOCK, full)).toEqual([]);
    expect((full.transactions as Json[]).map(({ hash }) => hash)).toEqual(block.transactions);
  });

  it.each(ERRORS)("error of $method", async ({ method, params, expected }) => {
    const own = expected[profile];
    const answer = scene.node.rpc.call(method, params);
    if (own !== undefined) await expect(answer).rejects.toMatchObject(own);
    else if (method !== "rpc_modules") await expect(answer).rejects.toMatchObject({ code: -32000 });
  });

  it("serves only the namespaces of the listener; trace_ is off unless listed", async () => {
    await expect(scene.node.rpc.call("trace_block", ["latest"])).rejects.toMatchObject({ code: -32601 });
    const client = await startTestClient([`--profile=${profile}`, "--http.api=eth,net,web3"]);
    try {
      for (const method of ["txpool_status", "debug_traceTransaction"]) {
        await expect(client.rpc.call(method, [])).rejects.toMatchObject({ code: -32601 });
      }
      expect(await client.rpc.call("net_version")).toBe(String(CHAIN_ID));
    } finally {
      await client.remove();
    }
  });

  it("subscriptions: acknowledgement, notifications, unsubscribing", async () => {
    const socket = new WebSocket(scene.node.wsUrl);
    const received: Json[] = [];
    socket.addEventListener("message", ({ data }) => void received.push(JSON.parse(data as string) as Json));
    await new Promise((resolve) => socket.addEventListener("open", resolve));
    const until = async <T>(find: () => T | undefined): Promise<T> => {
      for (let tries = 0; tries < 200; tries++) {
        const found = find();
        if (found !== undefined) return found;
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
      throw new Error(`nothing came: ${JSON.stringify(received).slice(0, 500)}`);
    };
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
    const notified = (topic: string) =>
      until(() => {
        const found = received.find(
          ({ method, params }) => method === "eth_subscription" && (params as Json).subscription === ids.get(topic),
        );
        return found === undefined ? undefined : ((found.params as Json).result as never);
      });
    const { node, counter } = scene;
    const nonce = Number(await node.rpc.call<string>("eth_getTransactionCount", [RICH_ADDRESS, "pending"]));
    const transaction = { chainId: CHAIN_ID, type: "legacy", gasPrice: GAS_PRICE, gas: 100_000n, nonce, to: counter } as const;
    const hash = await node.rpc.call<string>("eth_sendRawTransaction", [await account.signTransaction(transaction as never)]);
    expect(await notified("newPendingTransactions")).toBe(hash);
    await node.buildBlock();
    expect(schemaFaults(results.HEADER, await notified("newHeads"))).toEqual([]);
    expect(schemaFaults(results.LOG, await notified("logs"))).toEqual([]);
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
    // Without its parameters, a method that needs some says so, and one that needs none answers as described.
    for (const { name, params, result } of methods) {
      if (name === "rpc.discover") continue;
      const needed = params.filter(({ required }) => required);
      if (needed.length > 0) await expect(scene.node.rpc.call(name)).rejects.toMatchObject({ code: -32602 });
      else if (!("not" in result.schema)) expect(schemaFaults(result.schema, await scene.node.rpc.call(name)), name).toEqual([]);
    }
  });
});

const document = [process.env.RNODE_REQUIREMENTS, join(import.meta.dirname, "../../../../shared/requirements.md")].find(
  (path) => path !== undefined && existsSync(path),
);

describe.skipIf(document === undefined)("the document's tables", () => {
  const text = document === undefined ? "" : readFileSync(document, "utf8");
  const firstCells = (heading: string): string[] => {
    const from = text.indexOf(`### ${heading}`);
    if (from === -1) throw new Error(`the document has no section ${heading}`);
    const section = text.slice(from).split(/\n##/, 2)[0]!;
    const cells = section.split("\n").flatMap((line) => (line.startsWith("| ") ? [line.split("|")[1]!.trim()] : []));
    return cells.slice(1).flatMap((cell) => cell.split(", "));
  };

  it("are covered by the tables here, method by method", () => {
    const covered = [...Object.keys(METHODS), ...OVER_WEBSOCKET];
    expect(firstCells("Execution client methods").filter((name) => !covered.includes(name))).toEqual([]);
    for (const topic of TOPICS) expect(text).toContain(`| ${topic} |`);
  });

  it("are covered by the tables here, field by field", () => {
    expect(firstCells("Transaction (").filter((field) => !(field in TRANSACTION_FIELDS))).toEqual([]);
    const receipt = [...RECEIPT_FIELDS, ...DEPOSIT_RECEIPT_FIELDS, "blobGasUsed", "l1FeeScalar"];
    expect(firstCells("Receipt (").filter((field) => !receipt.includes(field))).toEqual([]);
    const block = [...BLOCK_FIELDS, "totalDifficulty"];
    expect(firstCells("Block (").filter((field) => !block.includes(field))).toEqual([]);
  });
});
