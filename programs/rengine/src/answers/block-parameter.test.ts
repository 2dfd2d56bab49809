import type { JsonSchema } from "@rnode/jsonrpc";
import { type Hex, toQuantity } from "@rnode/primitives";
import { privateKeyToAccount } from "viem/accounts";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { buildPackage } from "../testing/built-package.ts";
import { COUNTER_CREATION } from "../testing/counter.ts";
import { describedMethods } from "../testing/described-answers.ts";
import { CHAIN_ID, RICH_ADDRESS, RICH_KEY, startTestClient, type TestClient } from "../testing/test-client.ts";

// Every method that takes a block accepts every form of block parameter, and reports a block that does not exist.

const account = privateKeyToAccount(RICH_KEY);
const ZERO = `0x${"00".repeat(32)}`;
const API = "eth,net,web3,debug,trace";

/** Makes parameters that include a block. The result depends on which block it is. */
type Call = (counter: Hex, block: unknown) => readonly unknown[];
const call = (counter: Hex) => ({ to: counter, data: "0x00" });

/** Methods that accept a block in every form, including EIP-1898 objects. */
const BY_ANY: Readonly<Record<string, Call>> = {
  eth_getBalance: (_, block) => [RICH_ADDRESS, block],
  eth_getTransactionCount: (_, block) => [RICH_ADDRESS, block],
  eth_getCode: (counter, block) => [counter, block],
  eth_getStorageAt: (counter, block) => [counter, "0x0", block],
  eth_getStorageValues: (counter, block) => [{ [counter]: [ZERO] }, block],
  eth_getProof: (counter, block) => [counter, [ZERO], block],
  eth_getMultiProof: (counter, block) => [[[counter, [ZERO]]], block],
  eth_getAccount: (_, block) => [RICH_ADDRESS, block],
  eth_getAccountInfo: (_, block) => [RICH_ADDRESS, block],
  eth_getBlockReceipts: (_, block) => [block],
  eth_call: (counter, block) => [call(counter), block],
  eth_estimateGas: (counter, block) => [{ ...call(counter), from: RICH_ADDRESS }, block],
  eth_createAccessList: (counter, block) => [{ ...call(counter), from: RICH_ADDRESS }, block],
  eth_callMany: (counter, block) => [[{ transactions: [call(counter)] }], { blockNumber: block }],
  eth_simulateV1: (counter, block) => [{ blockStateCalls: [{ calls: [call(counter)] }] }, block],
  debug_accountRange: (_, block) => [block, "0x", 5, false, false, true],
  debug_codeByHash: (_, block) => [ZERO, block],
  debug_executionWitness: (_, block) => [block],
  debug_getRawBlock: (_, block) => [block],
  debug_getRawHeader: (_, block) => [block],
  debug_getRawReceipts: (_, block) => [block],
  debug_getRawTransactions: (_, block) => [block],
  debug_replaySDMBlock: (_, block) => [block],
  debug_storageRangeAt: (counter, block) => [block, 0, counter, "0x", 5],
  debug_traceCall: (counter, block) => [call(counter), block, { tracer: "callTracer" }],
  debug_traceCallMany: (counter, block) => [[{ transactions: [call(counter)] }], { blockNumber: block }, { tracer: "callTracer" }],
  trace_block: (_, block) => [block],
  trace_blockOpcodeGas: (_, block) => [block],
  trace_call: (counter, block) => [call(counter), ["trace"], block],
  trace_callMany: (counter, block) => [[[call(counter), ["trace"]]], block],
  trace_rawTransaction: (_, block) => [RAW, ["trace"], block],
  trace_replayBlockTransactions: (_, block) => [block, ["trace"]],
  trace_filter: (_, block) => [{ fromBlock: block, toBlock: block }],
};
/** Methods that accept a number or a tag. */
const BY_NUMBER: Readonly<Record<string, Call>> = {
  eth_getBlockByNumber: (_, block) => [block, false],
  eth_getHeaderByNumber: (_, block) => [block],
  eth_getBlockTransactionCountByNumber: (_, block) => [block],
  eth_getTransactionByBlockNumberAndIndex: (_, block) => [block, "0x0"],
  eth_getRawTransactionByBlockNumberAndIndex: (_, block) => [block, "0x0"],
  eth_getUncleByBlockNumberAndIndex: (_, block) => [block, "0x0"],
  eth_getUncleCountByBlockNumber: (_, block) => [block],
  eth_feeHistory: (_, block) => ["0x1", block, [50]],
  eth_getLogs: (counter, block) => [{ address: counter, fromBlock: block, toBlock: block }],
  eth_newFilter: (counter, block) => [{ address: counter, fromBlock: block, toBlock: block }],
  debug_dumpBlock: (_, block) => [block],
  debug_traceBlockByNumber: (_, block) => [block, { tracer: "callTracer" }],
};
/** For a block that does not exist these return null; a filter is no error either, because it waits for the block. */
const NULL_IF_UNKNOWN = [
  ...["eth_getBlockByNumber", "eth_getHeaderByNumber", "eth_getBlockReceipts", "eth_getBlockTransactionCountByNumber"],
  ...["eth_getTransactionByBlockNumberAndIndex", "eth_getUncleByBlockNumberAndIndex", "eth_getUncleCountByBlockNumber"],
  ...["eth_getRawTransactionByBlockNumberAndIndex", "trace_replayBlockTransactions"],
];
const WAITS = ["eth_newFilter"];
/** Methods whose results differ from call to call. */
const CHANGING = ["eth_newFilter"];
/** For the block `pending`, Geth shows no hash and counts the pool's transactions. */
const SHOWS_PENDING = ["eth_getBlockByNumber", "eth_getHeaderByNumber", "eth_getTransactionCount", "eth_feeHistory"];
/** Methods whose results are the same for the genesis and the latest block. */
const SAME_AT_GENESIS = ["eth_getUncleByBlockNumberAndIndex", "eth_getUncleCountByBlockNumber", "debug_codeByHash"];
let RAW: Hex;

const mentions = (schema: JsonSchema, title: string): boolean => JSON.stringify(schema).includes(`"${title}"`);

describe.each([
  ["R", 0],
  ["G", 0],
  ["R", 1],
] as const)("blocks as parameters, profile %s, %i readers", (profile, readers) => {
  let node: TestClient;
  let counter: Hex;
  let block: { readonly number: Hex; readonly hash: Hex };
  /** hash of a block on another branch */
  let left: Hex;
  beforeAll(async () => {
    if (readers > 0) buildPackage();
    node = await startTestClient([`--profile=${profile}`, `--rpc.workers=${readers}`, `--http.api=${API}`]);
    let nonce = 0;
    const sign = (fields: object): Promise<Hex> => {
      const common = { chainId: CHAIN_ID, type: "eip1559", gas: 200_000n, maxFeePerGas: 2_000_000_000n } as const;
      return account.signTransaction({ ...common, nonce: nonce++, ...fields });
    };
    const send = async (fields: object) => node.rpc.call<Hex>("eth_sendRawTransaction", [await sign(fields)]);
    const creation = await send({ data: COUNTER_CREATION });
    await node.buildBlock();
    ({ contractAddress: counter } = await node.rpc.call<{ contractAddress: Hex }>("eth_getTransactionReceipt", [creation]));
    const { hash, timestamp } = await node.rpc.call<{ hash: Hex; timestamp: Hex }>("eth_getBlockByNumber", ["latest", false]);
    left = (await node.buildBlock()).hash;
    await send({ to: counter });
    const own = await node.buildBlock({ parent: { hash, timestampSec: Number(timestamp) + 1 } });
    block = { hash: own.hash, number: toQuantity(own.number) };
    RAW = await sign({ to: counter }); // the sender's next transaction, not sent
    const label = { headBlockHash: own.hash, safeBlockHash: own.hash, finalizedBlockHash: own.hash };
    await node.engine.call("engine_forkchoiceUpdatedV3", [label, null]);
  });
  afterAll(() => node.remove());

  const ask = (method: string, asked: unknown): Promise<unknown> => {
    const params = BY_ANY[method] ?? BY_NUMBER[method]!;
    return node.rpc.call(method, params(counter, asked));
  };
  const failure = async (method: string, asked: unknown): Promise<unknown> =>
    ask(method, asked).then(
      (result) => ({ result }),
      ({ code }: { code: number }) => ({ code }),
    );
  const served = (table: Readonly<Record<string, Call>>): string[] =>
    Object.keys(table).filter((name) => profile === "R" || !/^(trace_|debug_replaySDMBlock$)/.test(name));

  it("are of these methods", async () => {
    const methods = await describedMethods(node.rpc);
    const by = (test: (schema: JsonSchema) => boolean): string[] =>
      [...methods.values()].filter(({ params }) => params.some(({ schema }) => test(schema))).map(({ name }) => name);
    const any = by((schema) => mentions(schema, "Block hash"));
    const number = by((schema) => mentions(schema, "Block tag") && !mentions(schema, "Block hash"));
    expect([any.sort(), number.sort()]).toEqual([served(BY_ANY).sort(), served(BY_NUMBER).sort()]);
  });

  it("are named by tag, number, hash, and in objects of EIP-1898: the same block, the same answer", async () => {
    const { number, hash } = block;
    const forms = ["latest", "safe", "finalized", "pending", number];
    const more = [
      hash,
      { blockNumber: number },
      { blockNumber: "latest" },
      { blockHash: hash },
      { blockHash: hash, requireCanonical: true },
    ];
    for (const [names, own] of [
      [served(BY_ANY), [...forms, ...more]],
      [served(BY_NUMBER), forms],
    ] as const)
      for (const method of names.filter((name) => !CHANGING.includes(name))) {
        const expected = await ask(method, number);
        for (const form of own) {
          if (form === "pending" && SHOWS_PENDING.includes(method)) continue;
          if (form === "pending" && profile === "G" && method === "eth_getLogs") continue; // refused
          expect([method, form, await ask(method, form)]).toEqual([method, form, expected]);
        }
        if (!SAME_AT_GENESIS.includes(method))
          expect([method, await failure(method, "earliest")]).not.toEqual([method, { result: expected }]);
      }
  });

  it("are refused in other forms, and by both hash and number", async () => {
    for (const method of [...served(BY_ANY), ...served(BY_NUMBER)])
      for (const form of ["newest", "0x", "2", -1, {}, { blockHash: "0x12" }, { blockHash: block.hash, blockNumber: block.number }])
        expect([method, form, await failure(method, form)]).toEqual([method, form, { code: -32602 }]);
    for (const method of served(BY_NUMBER))
      for (const form of [block.hash, { blockNumber: block.number }, { blockHash: block.hash }])
        expect([method, form, await failure(method, form)]).toEqual([method, form, { code: -32602 }]);
  });

  it("that are not there are an error, or nothing", async () => {
    for (const method of [...served(BY_ANY), ...served(BY_NUMBER)].filter((name) => !WAITS.includes(name))) {
      const answer = (await failure(method, "0xffff")) as { code?: number; result?: unknown };
      // `0x`, or null, on G
      if (profile === "G" && /^debug_getRaw(Block|Header|Receipts)$/.test(method)) continue;
      if (NULL_IF_UNKNOWN.includes(method)) expect([method, answer]).toEqual([method, { result: null }]);
      else expect([method, answer]).toEqual([method, { code: expect.any(Number) }]);
    }
    for (const method of served(BY_ANY)) {
      const answer = (await failure(method, { blockHash: `0x${"ee".repeat(32)}` })) as { code?: number; result?: unknown };
      expect([method, answer.code !== undefined || answer.result === null]).toEqual([method, true]);
    }
  });

  it("that are not there are named in the profile's words", async () => {
    const unknown = `0x${"ee".repeat(32)}`;
    const words = async (method: string, ...params: unknown[]): Promise<unknown> =>
      node.rpc.call(method, params).catch(({ code, message }: { code: number; message: string }) => [code, message]);
    const balance = (asked: unknown) => words("eth_getBalance", RICH_ADDRESS, asked);
    const text = (r: string, g: string) => (profile === "R" ? [-32001, `block not found: ${r}`] : [-32000, g]);
    expect(await balance("0xffff")).toEqual(text("0xffff", "header not found"));
    expect(await balance(unknown)).toEqual(text(`hash ${unknown}`, "header for hash not found"));
    const canonical = { blockHash: left, requireCanonical: true };
    // Only the process that owns the chain remembers a block that has left it.
    const forgotten = readers > 0 ? "header for hash not found" : "hash is not currently canonical";
    expect(await balance(canonical)).toEqual(text(`canonical hash ${left}`, forgotten));
    expect(await words("eth_getLogs", { blockHash: unknown })).toEqual(text(`hash ${unknown}`, "unknown block"));
    expect(await words("debug_traceBlockByHash", unknown)).toEqual(text(`hash ${unknown}`, `block ${unknown} not found`));
    expect(await words("debug_traceBlockByNumber", "0xffff")).toEqual(text("0xffff", "block #65535 not found"));
    expect(await words("debug_traceTransaction", unknown)).toEqual([profile === "R" ? -32001 : -32000, "transaction not found"]);
  });

  it("of another branch are not canonical: refused when that is required", async () => {
    for (const method of served(BY_ANY)) {
      const answer = (await failure(method, { blockHash: left, requireCanonical: true })) as { code?: number; result?: unknown };
      expect([method, answer.code !== undefined || answer.result === null]).toEqual([method, true]);
    }
  });
});
