import { assemble, deployerOf } from "@rnode/eth-api/testing";
import type { RpcClient } from "@rnode/jsonrpc";
import { bytesToHex, type Hex } from "@rnode/primitives";
import { privateKeyToAccount } from "viem/accounts";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { holdingToDescription } from "../testing/described-answers.ts";
import { CHAIN_ID, RICH_ADDRESS, RICH_KEY, startTestClient, type TestClient } from "../testing/test-client.ts";

const account = privateKeyToAccount(RICH_KEY);
const FEES = { type: "eip1559", maxFeePerGas: 10n ** 10n, maxPriorityFeePerGas: 10n ** 9n } as const;
const PAID: Hex = `0x${"5a".repeat(20)}`;
const GENESIS_CONTRACT: Hex = `0x${"c0".repeat(20)}`;
const UNKNOWN: Hex = `0x${"77".repeat(20)}`;
const NO_HASH: Hex = `0x${"ee".repeat(32)}`;
const word = (address: Hex): Hex => `0x${address.slice(2).padStart(64, "0")}`;
/** Pays half of what it gets to the account in its data and creates an empty contract; reverts with its data when it gets nothing. */
const CODE = assemble(
  "CALLVALUE ISZERO 32 JUMPI 0 0 0 0 2 CALLVALUE DIV 0 CALLDATALOAD GAS CALL POP 0 0 0 CREATE POP STOP JUMPDEST 0 CALLDATALOAD 0 MSTORE 32 0 REVERT",
);
type Json = Record<string, unknown>;
interface Page {
  readonly txs: readonly { readonly hash: Hex }[];
  readonly receipts: readonly Json[];
  readonly firstPage: boolean;
  readonly lastPage: boolean;
}

describe("the methods of Otterscan", () => {
  let node: TestClient;
  let described: RpcClient;
  let payer: Hex;
  const sent: Hex[] = [];
  const rpc = <T>(method: string, ...params: unknown[]): Promise<T> => described.call<T>(method, params);
  const send = async (fields: object): Promise<Hex> => {
    const raw = await account.signTransaction({ chainId: CHAIN_ID, gas: 300_000n, nonce: sent.length, ...FEES, ...fields });
    sent.push(await node.rpc.call<Hex>("eth_sendRawTransaction", [raw]));
    return sent.at(-1)!;
  };

  beforeAll(async () => {
    const alloc = { [GENESIS_CONTRACT]: { balance: "0x0", code: "0x00" } };
    node = await startTestClient(["--http.api=eth,debug,trace,ots"], undefined, { alloc });
    described = holdingToDescription(node.rpc);
    await send({ data: bytesToHex(deployerOf(CODE)) });
    await node.buildBlock();
    payer = (await rpc<{ contractAddress: Hex }>("eth_getTransactionReceipt", sent[0])).contractAddress;
    await send({ to: payer, value: 10n, data: word(PAID) });
    await send({ to: payer, data: word(PAID) });
    await send({ to: GENESIS_CONTRACT, value: 1n });
    await node.buildBlock();
    for (let blocks = 0; blocks < 3; blocks++) {
      await send({ to: PAID, value: 1n });
      await node.buildBlock();
    }
  });
  afterAll(() => node.remove());

  it("say their version, and a header under both names", async () => {
    expect(await rpc("ots_getApiLevel")).toBe(8);
    const header = await rpc("eth_getHeaderByNumber", "0x1");
    for (const block of [1, "0x1"]) {
      expect(await rpc("ots_getHeaderByNumber", block)).toEqual(header);
      expect(await rpc("erigon_getHeaderByNumber", block)).toEqual(header);
    }
    expect(await rpc("erigon_getHeaderByNumber", 99)).toBeNull();
  });

  it("say which account has code, and who created it", async () => {
    expect(await rpc("ots_hasCode", payer, "latest")).toBe(true);
    expect(await rpc("ots_hasCode", payer, 0)).toBe(false);
    expect(await rpc("ots_hasCode", PAID)).toBe(false);
    expect(await rpc("ots_getContractCreator", payer)).toEqual({ hash: sent[0], creator: RICH_ADDRESS });
    expect(await rpc("ots_getContractCreator", GENESIS_CONTRACT)).toBeNull();
    expect(await rpc("ots_getContractCreator", PAID)).toBeNull();
  });

  it("list a transaction's messages as callTracer nests them", async () => {
    interface Call {
      readonly type: string;
      readonly from: Hex;
      readonly to: Hex;
      readonly value: Hex;
      readonly input: Hex;
      readonly output?: Hex;
      readonly calls?: readonly Call[];
    }
    const nested = await rpc<Call>("debug_traceTransaction", sent[1], { tracer: "callTracer" });
    const flat = ({ type, from, to, value, input, output = "0x", calls = [] }: Call, depth: number): Json[] => [
      { type, from, to, value, input, output, depth },
      ...calls.flatMap((call) => flat(call, depth + 1)),
    ];
    const listed = flat(nested, 0);
    expect(await rpc("ots_traceTransaction", sent[1])).toEqual(listed);
    expect(listed.map(({ type, depth }) => [type, depth])).toEqual([
      ["CALL", 0],
      ["CALL", 1],
      ["CREATE", 1],
    ]);
    expect(await rpc("ots_getInternalOperations", sent[1])).toEqual([
      { type: 0, from: payer, to: PAID, value: "0x5" },
      { type: 2, from: payer, to: listed[2]!.to, value: "0x0" },
    ]);
    expect(await rpc("ots_getInternalOperations", sent[2])).toEqual([]);
    expect(await rpc("ots_traceTransaction", NO_HASH)).toBeNull();
  });

  it("give the output of a revert", async () => {
    expect(await rpc("ots_getTransactionError", sent[2])).toBe(word(PAID));
    expect(await rpc("ots_getTransactionError", sent[1])).toBe("0x");
    expect(await rpc("ots_getTransactionError", NO_HASH)).toBeNull();
  });

  it("give a block without transactions, with its fees", async () => {
    const { transactions, logsBloom, ...rest } = await rpc<Json & { hash: Hex; transactions: readonly Hex[] }>(
      "eth_getBlockByNumber",
      "0x2",
      false,
    );
    expect(logsBloom).toBeDefined();
    const receipts = await rpc<readonly { gasUsed: Hex; effectiveGasPrice: Hex }[]>("eth_getBlockReceipts", "0x2");
    const fees = receipts.reduce((sum, { gasUsed, effectiveGasPrice }) => sum + BigInt(gasUsed) * BigInt(effectiveGasPrice), 0n);
    const details = {
      block: { ...rest, logsBloom: null, transactionCount: transactions.length },
      issuance: { blockReward: "0x0", uncleReward: "0x0", issuance: "0x0" },
      totalFees: `0x${fees.toString(16)}`,
    };
    expect(await rpc("ots_getBlockDetails", 2)).toEqual(details);
    expect(await rpc("ots_getBlockDetailsByHash", rest.hash)).toEqual(details);
    expect(await rpc("ots_getBlockDetails", 99)).toBeNull();
    expect(await rpc("ots_getBlockDetailsByHash", NO_HASH)).toBeNull();
  });

  it("give pages of a block's transactions, the last ones first", async () => {
    type Pages = {
      fullblock: { transactions: readonly { hash: Hex; input: Hex }[]; transactionCount: number };
      receipts: readonly Json[];
    };
    const all = (await rpc<{ transactions: readonly Hex[] }>("eth_getBlockByNumber", "0x2", false)).transactions;
    const pages: Hex[][] = [];
    for (let page = 0; page * 2 < all.length + 2; page++) {
      const { fullblock, receipts } = await rpc<Pages>("ots_getBlockTransactions", 2, page, 2);
      expect(fullblock.transactionCount).toBe(all.length);
      expect(receipts.map(({ transactionHash }) => transactionHash)).toEqual(fullblock.transactions.map(({ hash }) => hash));
      for (const { input } of fullblock.transactions) expect(input.length).toBeLessThanOrEqual(10);
      pages.push(fullblock.transactions.map(({ hash }) => hash));
    }
    expect(pages.at(-1)).toEqual([]);
    expect(pages.reverse().flat()).toEqual(all);
    expect(await rpc("ots_getBlockTransactions", 99, 0, 10)).toBeNull();
  });

  it("find transactions by address, also inner ones, page by page in both directions", async () => {
    const ofPaid = [sent[6], sent[5], sent[4], sent[1]]; // the last by an inner call
    const hashes = ({ txs }: Page): Hex[] => txs.map(({ hash }) => hash);
    const first = await rpc<Page>("ots_searchTransactionsBefore", PAID, 0, 2);
    expect([hashes(first), first.firstPage, first.lastPage]).toEqual([ofPaid.slice(0, 2), true, false]);
    expect(first.receipts.map(({ transactionHash }) => transactionHash)).toEqual(hashes(first));
    const rest = await rpc<Page>("ots_searchTransactionsBefore", PAID, 4, 25);
    expect([hashes(rest), rest.firstPage, rest.lastPage]).toEqual([ofPaid.slice(2), false, true]);
    const oldest = await rpc<Page>("ots_searchTransactionsAfter", PAID, 0, 2);
    expect([hashes(oldest), oldest.firstPage, oldest.lastPage]).toEqual([ofPaid.slice(2), false, true]);
    const newest = await rpc<Page>("ots_searchTransactionsAfter", PAID, 3, 25);
    expect([hashes(newest), newest.firstPage, newest.lastPage]).toEqual([ofPaid.slice(0, 2), true, false]);
    const none = await rpc<Page>("ots_searchTransactionsBefore", UNKNOWN, 0, 25);
    expect([none.txs, none.firstPage, none.lastPage]).toEqual([[], true, true]);
    expect(hashes(await rpc<Page>("ots_searchTransactionsBefore", RICH_ADDRESS, 0, 25))).toEqual([...sent].reverse());
  });

  it("find a transaction by its sender and nonce", async () => {
    for (const [nonce, hash] of sent.entries())
      expect(await rpc("ots_getTransactionBySenderAndNonce", RICH_ADDRESS, nonce)).toBe(hash);
    expect(await rpc("ots_getTransactionBySenderAndNonce", RICH_ADDRESS, sent.length)).toBeNull();
  });
});
