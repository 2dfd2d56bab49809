import { isDeepStrictEqual } from "node:util";
import { RpcError } from "@rnode/jsonrpc";
import { liesAbout } from "@rnode/jsonrpc/testing";
import {
  bytesToHex,
  EMPTY_OMMERS_HASH,
  EMPTY_REQUESTS_HASH,
  encodeRlp,
  hexToBytes,
  isCodedError,
  keccak256,
  rlpUint,
  toQuantity,
} from "@rnode/primitives";
import {
  encodeTransaction,
  forksUpTo,
  type Header,
  hashHeader,
  hashTransaction,
  type LegacyTransaction,
  l1InfoDeposit,
  logsBloom,
  PREDEPLOYS,
  signTransaction,
} from "@rnode/protocol";
import { headerJson, testRollupConfig } from "@rnode/protocol/testing";
import { encodeAccount, orderedTrieRoot } from "@rnode/trie";
import { describe, expect, it } from "vitest";
import { L2Blocks } from "./l2-blocks.ts";

const filled = (length: number, byte: number): Uint8Array => new Uint8Array(length).fill(byte);

const CONFIG = testRollupConfig({ forkTimes: forksUpTo("jovian") });

/** Root of a trie that holds one account only: the hash of its leaf. */
const STORAGE_ROOT = filled(32, 0x99);
const ACCOUNT_LEAF = encodeRlp([
  Uint8Array.of(0x20, ...keccak256(PREDEPLOYS.l2ToL1MessagePasser)),
  encodeAccount({ nonce: 1n, balance: 0n, storageRoot: STORAGE_ROOT, codeHash: filled(32, 0x98) }),
]);

function block(number: number) {
  const timestamp = 1000 + number * 2;
  const origin = { number: 11, hash: filled(32, 0xa1), timestamp: 1001, baseFeePerGas: 7n, blobBaseFee: 1n };
  const deposit = l1InfoDeposit(CONFIG, origin, CONFIG.genesis.systemConfig, number - 1, timestamp);
  const legacy = signTransaction<LegacyTransaction>(
    {
      type: 0x00,
      chainId: 901n,
      nonce: 3n,
      gasPrice: 5n,
      gasLimit: 21_000n,
      to: filled(20, 1),
      value: 1n,
      data: new Uint8Array(0),
    },
    filled(32, 0x11),
  );
  const transactions = [deposit, legacy];
  const header: Header = {
    parentHash: filled(32, 0xb0),
    ommersHash: EMPTY_OMMERS_HASH,
    beneficiary: filled(20, 0x42),
    stateRoot: keccak256(ACCOUNT_LEAF),
    transactionsRoot: orderedTrieRoot(transactions.map((transaction) => encodeTransaction(transaction))),
    receiptsRoot: filled(32, 0x57),
    logsBloom: new Uint8Array(256),
    difficulty: 0n,
    number,
    gasLimit: 30_000_000n,
    gasUsed: 60_000n,
    timestamp,
    extraData: hexToBytes("01000000fa000000060000000000000000"),
    mixHash: filled(32, 0x33),
    nonce: new Uint8Array(8),
    baseFeePerGas: 8n,
    withdrawalsRoot: STORAGE_ROOT,
    blobGasUsed: 40_000n,
    excessBlobGas: 0n,
    parentBeaconBlockRoot: filled(32, 0x44),
    requestsHash: EMPTY_REQUESTS_HASH,
  };
  const hash = bytesToHex(hashHeader(header));
  const json = {
    ...headerJson(header),
    hash,
    withdrawals: [],
    transactions: [
      {
        type: "0x7e",
        hash: bytesToHex(hashTransaction(deposit)),
        sourceHash: bytesToHex(deposit.sourceHash),
        from: bytesToHex(deposit.from),
        to: bytesToHex(deposit.to!),
        mint: "0x0",
        value: "0x0",
        gas: toQuantity(deposit.gasLimit),
        input: bytesToHex(deposit.data),
        nonce: "0x0",
      },
      {
        type: "0x0",
        hash: bytesToHex(hashTransaction(legacy)),
        nonce: "0x3",
        gasPrice: "0x5",
        gas: "0x5208",
        to: bytesToHex(legacy.to!),
        value: "0x1",
        input: "0x",
        chainId: "0x385",
        v: toQuantity(35 + 901 * 2 + legacy.signature!.yParity),
        r: bytesToHex(legacy.signature!.r),
        s: bytesToHex(legacy.signature!.s),
      },
    ],
  };
  return { hash, header, json, transactions };
}

const FIVE = block(5);

function source(answer: (method: string, params: readonly unknown[]) => unknown = () => FIVE.json) {
  const calls: string[] = [];
  const rpc = {
    call: async (method: string, params: readonly unknown[]): Promise<unknown> => {
      calls.push(`${method} ${String(params[0])}`);
      return answer(method, params);
    },
  };
  return { l2: new L2Blocks(rpc, CONFIG), calls };
}

describe("L2Blocks", () => {
  it("gives ref, header and payload of a block, and its SystemConfig", async () => {
    const { l2, calls } = source();
    const found = await l2.blockByNumber(5);
    expect(found?.ref).toEqual({
      hash: FIVE.hash,
      number: 5,
      parentHash: bytesToHex(filled(32, 0xb0)),
      timestamp: 1010,
      l1Origin: { hash: bytesToHex(filled(32, 0xa1)), number: 11 },
      sequenceNumber: 4,
    });
    expect(found?.envelope.executionPayload.transactions).toEqual(
      FIVE.transactions.map((transaction) => encodeTransaction(transaction)),
    );
    expect(found?.envelope.executionPayload.withdrawalsRoot).toEqual(STORAGE_ROOT);
    expect(found?.envelope.parentBeaconBlockRoot).toEqual(filled(32, 0x44));
    expect(await l2.systemConfigByHash(FIVE.hash)).toMatchObject({ gasLimit: 30_000_000n, batcherAddress: filled(20, 0xba) });
    // by hash from the cache
    expect(calls).toEqual(["eth_getBlockByNumber 0x5"]);
  });

  it("does not read back a payload that it was told of", async () => {
    const envelope = (await source().l2.blockByNumber(5))!.envelope;
    const { l2, calls } = source();
    l2.remember(envelope);
    expect((await l2.blockRefByHash(FIVE.hash))?.number).toBe(5);
    expect((await l2.systemConfigByHash(FIVE.hash))?.gasLimit).toBe(30_000_000n);
    expect((await l2.blockByHash(FIVE.hash))?.header).toEqual(FIVE.header);
    expect(calls).toEqual([]);
  });

  it("does not keep a payload under a hash that is not its own", async () => {
    const { executionPayload, parentBeaconBlockRoot } = (await source().l2.blockByNumber(5))!.envelope;
    const { l2 } = source();
    expect(() => l2.remember({ executionPayload: { ...executionPayload, gasUsed: 1n }, parentBeaconBlockRoot })).toThrow(
      expect.objectContaining({ code: "engine/bad-answer" }),
    );
  });

  it("refuses a block that was not asked for", async () => {
    const { l2 } = source();
    await expect(l2.blockByNumber(6)).rejects.toThrow(expect.objectContaining({ code: "engine/bad-answer" }));
    await expect(l2.hashByNumber(6)).rejects.toThrow(expect.objectContaining({ code: "engine/bad-answer" }));
    await expect(l2.blockByHash(bytesToHex(filled(32, 9)))).rejects.toThrow(expect.objectContaining({ code: "engine/bad-answer" }));
  });

  it("reads a block for others without keeping it", async () => {
    const { l2, calls } = source();
    expect((await l2.envelopeByNumber(5))?.executionPayload.blockHash).toEqual(hexToBytes(FIVE.hash));
    await l2.blockByHash(FIVE.hash);
    expect(calls).toEqual(["eth_getBlockByNumber 0x5", `eth_getBlockByHash ${FIVE.hash}`]);
    await expect(l2.envelopeByNumber(6)).rejects.toThrow(expect.objectContaining({ code: "engine/bad-answer" }));
    expect(await source(() => null).l2.envelopeByNumber(5)).toBeUndefined();
  });

  const QUESTIONS: Readonly<Record<string, (l2: L2Blocks) => Promise<unknown>>> = {
    "a block by number": (l2) => l2.blockByNumber(5),
    "a block for others": (l2) => l2.envelopeByNumber(5),
    "a block by hash": (l2) => l2.blockByHash(FIVE.hash),
    "a label": (l2) => l2.blockByLabel("safe"),
    "a hash": (l2) => l2.hashByNumber(5),
    "a SystemConfig": (l2) => l2.systemConfigByHash(FIVE.hash),
  };

  it.each(Object.entries(QUESTIONS))("never believes a lie about %s, and finds the truth afterwards", async (_, ask) => {
    const truth = await ask(source().l2);
    let refused = 0;
    for (const lie of liesAbout(FIVE.json)) {
      let answer = lie.answer;
      const { l2 } = source(() => answer);
      try {
        const believed = await ask(l2);
        if (!isDeepStrictEqual(believed, lie.answer === null ? undefined : truth)) expect.fail(lie.name);
      } catch (error) {
        if (!isCodedError(error, "engine/bad-answer")) throw error;
        refused++;
      }
      answer = FIVE.json;
      if (!isDeepStrictEqual(await ask(l2), truth)) expect.fail(`${lie.name}, and never well again`);
    }
    expect(refused).toBeGreaterThan(150);
  });

  it.each([
    ["stateRoot", bytesToHex(filled(32, 9))],
    ["gasUsed", "0x1"],
    ["timestamp", "0x1"],
    ["hash", bytesToHex(filled(32, 9))],
    ["transactions", FIVE.json.transactions.slice(0, 1)],
    ["transactions", [FIVE.json.transactions[0], { ...FIVE.json.transactions[1], value: "0x2" }]],
    ["transactions", undefined],
  ])("refuses a block whose %s is not its own", async (field, value) => {
    await expect(source(() => ({ ...FIVE.json, [field]: value })).l2.blockByNumber(5)).rejects.toThrow(
      expect.objectContaining({ code: "engine/bad-answer" }),
    );
  });

  it("answers undefined for blocks and labels that are not there", async () => {
    expect(await source(() => null).l2.blockByNumber(9)).toBeUndefined();
    expect(await source(() => null).l2.blockByLabel("safe")).toBeUndefined();
    expect(await source(() => null).l2.hashByNumber(9)).toBeUndefined();
    const unset = source(() => {
      throw new RpcError(-32000, "safe block not found");
    });
    expect(await unset.l2.blockByLabel("safe")).toBeUndefined();
    await expect(unset.l2.blockByNumber(1)).rejects.toThrow(expect.objectContaining({ code: "engine/rpc-error" }));
    for (const error of [
      new RpcError(4444, "pruned history unavailable"),
      new RpcError(4444, "gone"),
      new RpcError(-32000, "pruned history unavailable: requested 0, earliest available 9"),
      new RpcError(-32000, "header not found"),
      new RpcError(-32001, "Unknown block"),
    ]) {
      const { l2 } = source(() => {
        throw error;
      });
      expect(await l2.blockRefByNumber(1)).toBeUndefined();
      expect(await l2.headerBy(1)).toBeUndefined();
      expect(await l2.hashByNumber(1)).toBeUndefined();
      expect(await l2.blockByHash(`0x${"11".repeat(32)}`)).toBeUndefined();
      expect(await l2.envelopeByNumber(1)).toBeUndefined();
    }
    const broken = source(() => {
      throw new RpcError(-32000, "database is corrupt");
    });
    await expect(broken.l2.blockByLabel("safe")).rejects.toThrow(expect.objectContaining({ code: "engine/rpc-error" }));
  });

  it("proves the message passer's storage root", async () => {
    const proof = (nodes: unknown) => (method: string) =>
      method === "eth_getProof" ? { accountProof: nodes, storageHash: bytesToHex(filled(32, 1)) } : FIVE.json;
    const good = source(proof([bytesToHex(ACCOUNT_LEAF)])).l2;
    const found = (await good.blockByNumber(5))!;
    expect(await good.messagePasserStorageRoot(found)).toEqual(STORAGE_ROOT);
    for (const lie of liesAbout(proof([bytesToHex(ACCOUNT_LEAF)])("eth_getProof"))) {
      const believed = source((method) => (method === "eth_getProof" ? lie.answer : FIVE.json)).l2.messagePasserStorageRoot(found);
      if (lie.name.includes("storageHash")) expect(await believed).toEqual(STORAGE_ROOT);
      else await expect(believed, lie.name).rejects.toThrow(expect.objectContaining({ code: "engine/bad-answer" }));
    }
    for (const nodes of [
      undefined,
      [],
      [bytesToHex(encodeRlp([rlpUint(1)]))],
      [bytesToHex(ACCOUNT_LEAF), bytesToHex(ACCOUNT_LEAF)],
    ]) {
      await expect(source(proof(nodes)).l2.messagePasserStorageRoot(found)).rejects.toThrow(
        expect.objectContaining({ code: "engine/bad-answer" }),
      );
    }
  });

  it("reads the logs of a block, which have to be all of its bloom, in their order", async () => {
    const logs = [1, 2].map((byte) => ({ address: filled(20, byte), topics: [filled(32, byte)], data: filled(3, byte) }));
    const hash = `0x${"ab".repeat(32)}` as const;
    const place = { blockHash: hash, blockNumber: "0x5", transactionHash: hash, transactionIndex: "0x0", removed: false };
    const json = logs.map(({ address, topics, data }, i) => ({
      ...place,
      address: bytesToHex(address),
      topics: topics.map(bytesToHex),
      data: bytesToHex(data),
      logIndex: toQuantity(i),
    }));
    const asked = { ref: { ...(await source(() => FIVE.json).l2.blockRefByNumber(5))!, hash }, header: FIVE.header };
    const withLogs = { ...asked, header: { ...FIVE.header, logsBloom: logsBloom(logs) } };
    const read = (answer: unknown) => source(() => answer).l2.logsOf(withLogs);
    expect(await read(json)).toMatchObject(logs);
    expect(await source(() => "not asked").l2.logsOf({ ...asked, header: { ...FIVE.header, logsBloom: filled(256, 0) } })).toEqual(
      [],
    );
    for (const wrong of [
      null,
      [],
      json.slice(1),
      [...json].reverse(),
      [json[0], { ...json[1], blockHash: `0x${"cd".repeat(32)}` }],
      [json[0], json[0]],
    ]) {
      await expect(read(wrong)).rejects.toThrow(expect.objectContaining({ code: "engine/bad-answer" }));
    }
  });
});
