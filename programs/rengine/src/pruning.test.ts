import { RpcError } from "@rnode/jsonrpc";
import { bytesToHex, type Hex, hexToBytes, toQuantity } from "@rnode/primitives";
import { encodeTransaction, signTransaction } from "@rnode/protocol";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { db } from "./commands/db.ts";
import { COUNTER_CREATION } from "./testing/counter.ts";
import { CHAIN_ID, GENESIS_TIME_SEC, RICH_ADDRESS, RICH_KEY, startTestClient, type TestClient } from "./testing/test-client.ts";

const KEEP = 128;
const BLOCKS = 170;
const FLOOR = BLOCKS - KEEP;
const OTHER = "0x00000000000000000000000000000000000000aa";

interface BuiltBlock {
  readonly hash: Hex;
  readonly transactions: readonly Hex[];
}

/** A transaction of the rich account, encoded. */
function transaction(nonce: number, to: Hex | undefined, data: Hex = "0x", value = 1n): Hex {
  const signed = signTransaction(
    {
      type: 0x02,
      chainId: BigInt(CHAIN_ID),
      nonce: BigInt(nonce),
      maxPriorityFeePerGas: 1_000_000n,
      maxFeePerGas: 10_000_000_000n,
      gasLimit: 200_000n,
      to: to && hexToBytes(to),
      value,
      data: hexToBytes(data),
      accessList: [],
      yParity: 0,
      r: 0n,
      s: 0n,
    },
    hexToBytes(RICH_KEY),
  );
  return bytesToHex(encodeTransaction(signed));
}

const outcome = async (call: Promise<unknown>): Promise<unknown> => {
  try {
    return { result: await call };
  } catch (error) {
    if (!(error instanceof RpcError)) throw error;
    return { code: error.code, message: error.message };
  }
};

const testProfile = (profile: "R" | "G"): void => {
  let node: TestClient;
  const blocks: BuiltBlock[] = [];
  /** the answers of all methods before anything was pruned */
  const before = new Map<string, unknown>();
  const call = (method: string, ...params: unknown[]): Promise<unknown> => outcome(node.rpc.call(method, params));
  const api = "--http.api=eth,net,web3,debug,txpool,miner,trace";

  /** Requests about block `number`: methods with parameters. */
  function questions(number: number): [method: string, params: unknown[]][] {
    const at = toQuantity(number);
    const { hash, transactions } = blocks[number]!;
    const parent = toQuantity(number - 1);
    return [
      ["eth_getBalance", [OTHER, parent]],
      ["eth_getTransactionCount", [RICH_ADDRESS, parent]],
      ["eth_getStorageAt", [`0x${"bb".repeat(20)}`, "0x0", parent]],
      ["eth_getCode", [OTHER, parent]],
      ["eth_call", [{ to: OTHER }, parent]],
      ["eth_estimateGas", [{ from: RICH_ADDRESS, to: OTHER }, { blockNumber: parent }]],
      ["eth_getProof", [OTHER, ["0x0"], parent]],
      ["debug_traceBlockByNumber", [at, { tracer: "callTracer" }]],
      ["debug_traceBlockByHash", [hash, { tracer: "callTracer" }]],
      ["debug_traceCall", [{ to: OTHER }, parent, { tracer: "callTracer" }]],
      ["debug_executionWitness", [at]],
      ["debug_getRawReceipts", [at]],
      ["eth_getBlockReceipts", [at]],
      ["eth_getBlockReceipts", [{ blockHash: hash }]],
      ["eth_getLogs", [{ fromBlock: at, toBlock: at }]],
      ["eth_getLogs", [{ fromBlock: at, toBlock: "latest", address: OTHER }]],
      ["eth_getLogs", [{ blockHash: hash }]],
      ["eth_getTransactionReceipt", [transactions[1]]],
      ["eth_getTransactionByHash", [transactions[1]]],
      ["eth_getBlockByNumber", [at, false]],
      ["eth_getBlockByNumber", [at, true]],
      ["eth_getBlockByHash", [hash, false]],
      ["eth_getHeaderByNumber", [at]],
      ["eth_getBlockTransactionCountByNumber", [at]],
      ["eth_getTransactionByBlockNumberAndIndex", [at, "0x1"]],
      ["eth_getRawTransactionByBlockNumberAndIndex", [at, "0x1"]],
      ["debug_getRawBlock", [at]],
      ["debug_getRawHeader", [at]],
      ["eth_feeHistory", ["0x1", at, []]],
      ["eth_feeHistory", ["0x1", at, [50]]],
    ];
  }
  const keyOf = (number: number, index: number): string => `${number}/${index}`;

  beforeAll(async () => {
    node = await startTestClient([`--profile=${profile}`, api]);
    blocks.push({ hash: "0x", transactions: [] });
    let parent: { hash: Hex; timestampSec: number } | undefined;
    for (let number = 1; number <= BLOCKS; number++) {
      const sent = number === 1 ? transaction(0, undefined, COUNTER_CREATION, 0n) : transaction(number - 1, OTHER);
      const { hash } = await node.buildBlock({ transactions: [sent], noTxPool: true, ...(parent && { parent }) });
      parent = { hash, timestampSec: GENESIS_TIME_SEC + 2 * number };
      const { transactions } = await node.rpc.call<{ transactions: Hex[] }>("eth_getBlockByHash", [hash, false]);
      blocks.push({ hash, transactions });
    }
    for (let number = 2; number <= BLOCKS; number += 3) {
      for (const [index, [method, params]] of questions(number).entries())
        before.set(keyOf(number, index), await call(method, ...params));
    }
    await node.close();
    node = await startTestClient([`--profile=${profile}`, api, `--history.blocks=${KEEP}`], node.folder);
    const endMs = performance.now() + 20_000;
    while ((await oldestState()) !== toQuantity(FLOOR)) {
      if (performance.now() > endMs) throw new Error("not pruned");
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  });
  afterAll(() => node.remove());

  const oldestState = async (): Promise<string> =>
    (await node.rpc.call<{ state: { oldestBlock: string } }>("eth_capabilities", [])).state.oldestBlock;

  it("answers as before for every block that is retained", async () => {
    let compared = 0;
    for (let number = 2; number <= BLOCKS; number += 3) {
      if (number <= FLOOR) continue;
      for (const [index, [method, params]] of questions(number).entries()) {
        const answer = await call(method, ...params);
        expect({ method, params, answer }).toEqual({ method, params, answer: before.get(keyOf(number, index)) });
        expect(answer).toHaveProperty("result");
        compared++;
      }
    }
    expect(compared).toBeGreaterThan(1000);
  });

  const history =
    profile === "R"
      ? { code: 4444, message: "pruned history unavailable" }
      : { code: -32000, message: "pruned history unavailable" };
  const state =
    profile === "R"
      ? {
          code: 4444,
          message: expect.stringMatching(/^pruned history unavailable: requested \d+, earliest available \d+$/) as string,
        }
      : {
          code: -32000,
          message: expect.stringMatching(
            /^missing trie node [0-9a-f]{64} \(path \) state 0x[0-9a-f]{64} is not available$/,
          ) as string,
        };

  it("says of what is gone that it is, and still shows bodies", async () => {
    for (let number = 2; number < FLOOR; number += 3) {
      for (const [index, [method, params]] of questions(number).entries()) {
        const answer = await call(method, ...params);
        const was = before.get(keyOf(number, index));
        const expected = expectedOf(method, params, was);
        expect({ method, params, answer }).toEqual({ method, params, answer: expected });
      }
    }
  });

  function expectedOf(method: string, params: unknown[], was: unknown): unknown {
    switch (method) {
      case "eth_getBalance":
      case "eth_getTransactionCount":
      case "eth_getStorageAt":
      case "eth_getCode":
      case "eth_call":
      case "eth_estimateGas":
      case "eth_getProof":
      case "debug_traceCall":
        return state;
      case "debug_traceBlockByNumber":
      case "debug_traceBlockByHash":
      case "debug_executionWitness":
      case "debug_getRawReceipts":
      case "eth_getBlockReceipts":
      case "eth_getLogs":
        return history;
      case "eth_getTransactionReceipt":
      case "eth_getTransactionByHash":
        return { result: null };
      case "eth_feeHistory":
        return (params[2] as unknown[]).length === 0 ? was : history;
      case "eth_getBlockByNumber":
        return params[1] === true ? { result: withoutDepositNonce((was as { result: BlockJson }).result, profile) } : was;
      default:
        return was;
    }
  }

  it("has the state, but not the receipts, of the block at its floor", async () => {
    const at = toQuantity(FLOOR);
    expect(await call("eth_getBalance", OTHER, at)).toEqual({ result: toQuantity(FLOOR - 1) });
    expect(await call("eth_getProof", OTHER, [], at)).toHaveProperty("result");
    expect(await call("eth_getBlockReceipts", at)).toEqual(history);
    expect(await call("debug_traceBlockByNumber", toQuantity(FLOOR + 1), {})).toHaveProperty("result");
    expect(await call("eth_getBlockReceipts", "earliest")).toEqual({ result: [] });
  });

  it("tells what is retained", async () => {
    const window = { disabled: false, deleteStrategy: { type: "window", retentionBlocks: KEEP } };
    expect(await node.rpc.call("eth_capabilities", [])).toMatchObject({
      head: { number: toQuantity(BLOCKS) },
      state: { ...window, oldestBlock: toQuantity(FLOOR) },
      stateproofs: { disabled: false, oldestBlock: toQuantity(FLOOR) },
      receipts: { ...window, oldestBlock: toQuantity(FLOOR + 1) },
      logs: { ...window, oldestBlock: toQuantity(FLOOR + 1) },
      tx: { ...window, oldestBlock: toQuantity(FLOOR + 1) },
      blocks: { disabled: false, oldestBlock: "0x0" },
    });
  });

  it("serves bodies of pruned blocks to the rollup node", async () => {
    const bodies = await node.engine.call<{ transactions: Hex[] }[]>("engine_getPayloadBodiesByRangeV1", [
      "0x1",
      toQuantity(FLOOR),
    ]);
    expect(bodies.map(({ transactions }) => transactions.length)).toEqual(Array.from({ length: FLOOR }, () => 2));
  });

  it("goes on pruning as the chain grows, and goes back as far as it can", async () => {
    const head = { hash: blocks[BLOCKS - 5]!.hash, timestampSec: GENESIS_TIME_SEC + 2 * (BLOCKS - 5) };
    let parent = head;
    for (let i = 0; i < 30; i++) {
      const { hash } = await node.buildBlock({ parent, noTxPool: true });
      parent = { hash, timestampSec: parent.timestampSec + 2 };
    }
    const endMs = performance.now() + 10_000;
    let floor = 0;
    do {
      if (performance.now() > endMs) throw new Error(`not pruned: ${await oldestState()}`);
      await new Promise((resolve) => setTimeout(resolve, 200)); // pruning finishes soon after the last head
      floor = Number(await oldestState());
    } while (floor < BLOCKS - 5 + 30 - KEEP - 16);
    const zero = `0x${"00".repeat(32)}`;
    const choose = (hash: Hex) =>
      node.engine.call("engine_forkchoiceUpdatedV3", [
        { headBlockHash: hash, safeBlockHash: zero, finalizedBlockHash: zero },
        null,
      ]);
    await expect(choose(blocks[floor]!.hash)).rejects.toMatchObject({ code: -38006, message: "Too deep reorg" });
    expect(await choose(blocks[floor + 1]!.hash)).toMatchObject({ payloadStatus: { status: "VALID" } });
    expect(await node.rpc.call("eth_getBalance", [OTHER, "latest"])).toBe(toQuantity(floor));
    expect(await node.rpc.call("eth_blockNumber", [])).toBe(toQuantity(floor + 1));
    await node.close();
    const lines: string[] = [];
    const io = { out: (line: string) => lines.push(line), err: (line: string) => lines.push(line), progress: () => {} };
    expect(await db(["verify", `--datadir=${node.folder}/data`], {}, io)).toBe(0);
    expect(lines.at(-1)).toBe("verified");
    node = await startTestClient([`--profile=${profile}`, api], node.folder);
    expect(await oldestState()).toBe(toQuantity(floor)); // without the option, nothing comes back
  });
};
describe("rengine --history.blocks, profile R", { tags: "long" }, () => testProfile("R"));
describe("rengine --history.blocks, profile G", { tags: "long" }, () => testProfile("G"));

interface BlockJson {
  readonly transactions: readonly Readonly<Record<string, unknown>>[];
}

/** Only the pruned receipt had it; this also holds for deposits before Regolith. */
function withoutDepositNonce(block: BlockJson, profile: "R" | "G"): BlockJson {
  return {
    ...block,
    transactions: block.transactions.map((tx) => {
      if (tx.type !== "0x7e") return tx;
      const { nonce: _, depositReceiptVersion: __, ...rest } = tx;
      return profile === "R" ? rest : { ...rest, nonce: "0x0" };
    }),
  };
}

describe("rengine --proofs.window", () => {
  it("proves blocks of the window only, and reads the state of those before it", { tags: "long" }, async () => {
    const node = await startTestClient(["--proofs.window=128"]);
    try {
      let parent: { hash: Hex; timestampSec: number } | undefined;
      const last = 140;
      for (let number = 1; number <= last; number++) {
        const transactions = [transaction(number - 1, OTHER)];
        const { hash } = await node.buildBlock({ transactions, noTxPool: true, ...(parent && { parent }) });
        parent = { hash, timestampSec: GENESIS_TIME_SEC + 2 * number };
      }
      const proofAt = (number: number) => outcome(node.rpc.call("eth_getProof", [OTHER, [], toQuantity(number)]));
      expect(await proofAt(last - 100)).toMatchObject({ result: { balance: toQuantity(last - 100) } });
      expect(await proofAt(5)).not.toHaveProperty("result");
      expect(await node.rpc.call("eth_getBalance", [OTHER, "0x5"])).toBe("0x5");
    } finally {
      await node.remove();
    }
  });
});
