import { JOVIAN_CONFIG, l1Info } from "@rnode/eth-api/testing";
import { RpcError } from "@rnode/jsonrpc";
import { bytesToHex, type Hex, hexToBytes, toQuantity } from "@rnode/primitives";
import { encodeTransaction, hashHeader, headerFromRpc, PREDEPLOYS } from "@rnode/protocol";
import { orderedTrieRoot } from "@rnode/trie";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { GENESIS_TIME_SEC, startTestClient, type TestClient } from "../testing/test-client.ts";

const ZERO: Hex = `0x${"00".repeat(32)}`;
/** The first block after the genesis activates Canyon. */
const { chainId, bedrockBlock, regolithTime, optimism } = JOVIAN_CONFIG;
const CONFIG = { chainId, bedrockBlock, regolithTime, canyonTime: GENESIS_TIME_SEC + 1, optimism };

describe.each(["R", "G"] as const)("face %s", (profile) => {
  let node: TestClient;
  beforeAll(async () => {
    node = await startTestClient([`--profile=${profile}`], undefined, { config: CONFIG });
  });
  afterAll(() => node.remove());

  it("is asked about blocks with more transactions than a public request may have values", async () => {
    const transactions = Array.from({ length: 150_000 }, () => "0x02");
    const failure = await node.engine.call("engine_newPayloadV2", [{ transactions }]).catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: -32602 }); // it was read: the payload's other fields are missing
  });

  it("tells the rollup node what the operator can mend", async () => {
    const { hash } = await node.engine.call<{ hash: Hex }>("eth_getBlockByNumber", ["latest", false]);
    const attributes = {
      timestamp: toQuantity(GENESIS_TIME_SEC + 2),
      prevRandao: ZERO,
      suggestedFeeRecipient: bytesToHex(PREDEPLOYS.sequencerFeeVault),
      withdrawals: [],
      transactions: [bytesToHex(encodeTransaction(l1Info("bedrock")))],
      noTxPool: true,
      gasLimit: toQuantity(30_000_000n),
    };
    const state = { headBlockHash: hash, safeBlockHash: ZERO, finalizedBlockHash: ZERO };
    const failure = await node.engine.call("engine_forkchoiceUpdatedV2", [state, attributes]).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(RpcError);
    expect(failure).toMatchObject({ code: -32603 });
    expect((failure as RpcError).message).toMatch(/--rollup\.upgrades-dir/);
  });
});

describe("a block that does not end", () => {
  const HUGE_GAS = 1n << 62n;
  const LIMIT_MS = 300;
  /** JUMPDEST PUSH1(0) JUMP */
  const ENDLESS = hexToBytes("0x5b600056");
  let node: TestClient;
  beforeAll(async () => {
    node = await startTestClient([`--engine.max-execution-time=${LIMIT_MS}ms`]);
  });
  afterAll(() => node.remove());

  const isTooLong = expect.objectContaining({ code: -32000, data: { err: "execution-too-long" } });
  const failureOf = (call: Promise<unknown>): Promise<unknown> => call.catch((error: unknown) => error);

  it("is stopped; the error says so, other requests are answered, and the chain goes on", async () => {
    const bomb = { ...l1Info("jovian"), to: undefined, data: ENDLESS, gasLimit: HUGE_GAS };
    await node.buildBlock();
    const { hash, payload } = await node.buildBlock();
    const transactions = [...payload.executionPayload.transactions, bytesToHex(encodeTransaction(bomb))];
    const header = headerFromRpc(await node.rpc.call("eth_getBlockByHash", [hash, false]));
    const gasLimit = HUGE_GAS + header.gasLimit;
    const transactionsRoot = orderedTrieRoot(transactions.map(hexToBytes));
    const blockHash = bytesToHex(hashHeader({ ...header, gasLimit, gasUsed: HUGE_GAS, transactionsRoot }));
    const gas = { gasLimit: toQuantity(gasLimit), gasUsed: toQuantity(HUGE_GAS) };
    const given = { ...payload.executionPayload, ...gas, transactions, blockHash };
    const send = () => failureOf(node.engine.call("engine_newPayloadV4", [given, [], ZERO, []]));
    const [sent, number] = await Promise.all([send(), node.rpc.call("eth_blockNumber")]);
    expect(sent).toEqual(isTooLong);
    expect(number).toBe("0x2");
    expect(await send()).toEqual(isTooLong); // without another execution: the payload waits
    expect((await node.buildBlock()).number).toBe(3);
  });

  it("is stopped while it is built", async () => {
    const bomb = bytesToHex(encodeTransaction({ ...l1Info("jovian"), to: undefined, data: ENDLESS, gasLimit: HUGE_GAS }));
    expect(await failureOf(node.buildBlock({ transactions: [bomb], gasLimit: HUGE_GAS + 30_000_000n }))).toEqual(isTooLong);
    expect((await node.buildBlock()).number).toBe(4);
  });
});
