import { RpcError, RpcTransportError } from "@rnode/jsonrpc";
import { bytesToHex, hexToBytes, isCodedError } from "@rnode/primitives";
import { hashHeader, headerFromRpc } from "@rnode/protocol";
import { describe, expect, it } from "vitest";
import { L1Endpoints, type L1EndpointsOptions } from "./endpoints/endpoints.ts";
import { L1Client, type L1ClientDeps, type L1ClientOptions } from "./l1-client.ts";
import { type BlockFixture, blockFixture } from "./testing/block-json.ts";
import { FakeClock, FakeEndpoint } from "./testing/fake-endpoint.ts";

const BLOCKS = [blockFixture(100, 0), blockFixture(101, 3), blockFixture(102, 20)];
const [EMPTY, SMALL, LARGE] = BLOCKS as [BlockFixture, BlockFixture, BlockFixture];

function client(
  options: Partial<L1ClientOptions & L1EndpointsOptions> = {},
  fakes: readonly FakeEndpoint[] = [new FakeEndpoint([...BLOCKS])],
  counts?: L1ClientDeps["metrics"],
) {
  const clock = new FakeClock();
  const faulty: string[] = [];
  const failed: string[] = [];
  const warnings: string[] = [];
  const { chainId, ...clientOptions } = options;
  const endpoints = new L1Endpoints(
    { chainId },
    {
      endpoints: fakes.map((rpc, index) => ({ name: `endpoint-${index}`, rpc })),
      clock,
      log: { warn: (text, fields) => warnings.push(`${text} ${String(fields?.reason)}`), debug: () => {} },
      metrics: { faultyAnswer: (name) => faulty.push(name), requestFailed: (name) => failed.push(name) },
    },
  );
  const l1 = new L1Client(
    { trustRpc: false, rpcKind: "standard", cacheSize: 10, ...clientOptions },
    { endpoints, clock, metrics: counts },
  );
  return { l1, clock, endpoint: fakes[0]!, faulty, failed, warnings };
}

/** For every field of the header hash, a different value. */
const OTHER_VALUES: Record<string, unknown> = {
  parentHash: `0x${"09".repeat(32)}`,
  sha3Uncles: `0x${"09".repeat(32)}`,
  miner: `0x${"09".repeat(20)}`,
  stateRoot: `0x${"09".repeat(32)}`,
  transactionsRoot: `0x${"09".repeat(32)}`,
  receiptsRoot: `0x${"09".repeat(32)}`,
  logsBloom: `0x${"09".repeat(256)}`,
  difficulty: "0x1",
  gasLimit: "0x1",
  gasUsed: "0x1",
  timestamp: "0x1",
  extraData: "0x",
  mixHash: `0x${"09".repeat(32)}`,
  nonce: `0x${"09".repeat(8)}`,
  baseFeePerGas: "0x8",
  withdrawalsRoot: `0x${"09".repeat(32)}`,
  blobGasUsed: "0x20000",
  excessBlobGas: "0x0",
  parentBeaconBlockRoot: `0x${"09".repeat(32)}`,
  requestsHash: null,
};

/** A block object with its hash computed from its fields. */
const rehashed = (json: object): object => ({ ...json, hash: bytesToHex(hashHeader(headerFromRpc(json))) });

describe("L1Client blocks", () => {
  it("gives blocks by label, number and hash", async () => {
    const { l1 } = client();
    const expected = { hash: SMALL.hash, number: 101, timestamp: 1_700_001_212, baseFeePerGas: 7n, excessBlobGas: 100n };
    expect(await l1.blockByNumber(101)).toMatchObject(expected);
    expect(await l1.blockByHash(SMALL.hash)).toMatchObject(expected);
    expect((await l1.blockByLabel("latest"))?.number).toBe(102);
    expect(await l1.chainIds()).toEqual([{ endpoint: "endpoint-0", chainId: 900n }]);
  });

  it("answers undefined beyond the head without retrying, and for a hash that is gone after asking again", async () => {
    const { l1, endpoint } = client();
    expect(await l1.blockByNumber(103)).toBeUndefined();
    expect(endpoint.calls).toEqual(["eth_getBlockByNumber"]);
    expect(await l1.blockByHash(`0x${"ab".repeat(32)}`)).toBeUndefined();
    expect(endpoint.calls.filter((method) => method === "eth_getBlockByHash")).toHaveLength(4);
  });

  it("answers by hash from the cache, by number never", async () => {
    const { l1, endpoint } = client();
    await l1.blockByNumber(101);
    await l1.blockByHash(SMALL.hash);
    await l1.blockByHash(SMALL.hash);
    await l1.blockByNumber(101);
    expect(endpoint.calls).toEqual(["eth_getBlockByNumber", "eth_getBlockByNumber"]);
    await Promise.all([l1.transactions(SMALL.hash), l1.transactions(SMALL.hash), l1.receipts(SMALL.hash)]);
    await Promise.all([l1.transactions(SMALL.hash), l1.receipts(SMALL.hash)]);
    expect(endpoint.calls.slice(2).sort()).toEqual(["eth_getBlockByHash", "eth_getBlockReceipts"]);
  });

  it.each(Object.keys(OTHER_VALUES))("never accepts a header whose %s does not belong to its hash", async (field) => {
    const { l1, endpoint, faulty, warnings } = client();
    endpoint.override = () => ({ ...SMALL.json, [field]: OTHER_VALUES[field] });
    await expect(l1.blockByNumber(101)).rejects.toThrow(/^L1 does not give the block .*block hash/);
    expect(faulty).toHaveLength(4);
    expect(warnings[0]).toMatch(/faulty answer/);
  });

  it.each([
    ["another block", () => LARGE.json],
    ["a block without a hash", () => ({ ...SMALL.json, hash: undefined })],
    ["no object", () => "0x"],
    ["a field that is not hex", () => ({ ...SMALL.json, gasUsed: "many" })],
    ["a timestamp that derivation cannot count with", () => rehashed({ ...SMALL.json, timestamp: "0x20000000000001" })],
    ["a timestamp of 64 bits", () => rehashed({ ...SMALL.json, timestamp: "0xffffffffffffffff" })],
    ["a number of 64 bits", () => rehashed({ ...SMALL.json, number: "0xffffffffffffffff" })],
  ])("treats %s as a faulty answer", async (_, answer) => {
    const { l1, endpoint, faulty } = client();
    endpoint.override = answer;
    await expect(l1.blockByNumber(101)).rejects.toThrow(expect.objectContaining({ code: "l1/unavailable" }));
    await expect(l1.blockByHash(SMALL.hash)).rejects.toThrow(expect.objectContaining({ code: "l1/unavailable" }));
    expect(faulty.length).toBe(8);
  });

  it("trusts the endpoint's hashes and transactions only when told to", async () => {
    const tampered = {
      ...SMALL.fullJson,
      stateRoot: OTHER_VALUES.stateRoot,
      transactions: (SMALL.fullJson.transactions as object[]).map((transaction) => ({ ...transaction, value: "0x63" })),
    };
    for (const trustRpc of [true, false]) {
      const { l1, endpoint } = client({ trustRpc });
      endpoint.override = () => tampered;
      const asked = Promise.all([l1.blockByNumber(101), l1.transactions(SMALL.hash)]);
      if (trustRpc) expect((await asked)[1]?.map((each) => each.type !== "unknown" && each.value)).toEqual([99n, 99n, 99n]);
      else await expect(asked).rejects.toThrow(expect.objectContaining({ code: "l1/unavailable" }));
    }
  });

  it("does not believe in a child that is older than its parent or has another number, even when it trusts", async () => {
    const { l1, endpoint } = client({ trustRpc: true });
    await l1.blockByNumber(101);
    for (const lie of [{ timestamp: "0x1" }, { number: "0x67" }]) {
      endpoint.override = (method) =>
        method === "eth_getBlockByHash" ? { ...LARGE.json, parentHash: SMALL.hash, ...lie } : undefined;
      await expect(l1.blockByHash(LARGE.hash)).rejects.toThrow("block does not follow its parent");
    }
  });
});

describe("L1Client transactions", () => {
  it("does not take a block for empty because its header came without transactions", async () => {
    const { l1, endpoint } = client();
    endpoint.override = (_, [, isFull]) => (isFull === false ? { ...SMALL.json, transactions: [] } : undefined);
    await l1.blockByNumber(101);
    expect(await l1.transactions(SMALL.hash)).toEqual(SMALL.transactions);
    expect(await l1.receipts(SMALL.hash)).toEqual(SMALL.receipts);
  });

  it("gives verified transactions", async () => {
    const { l1 } = client();
    expect(await l1.transactions(SMALL.hash)).toEqual(SMALL.transactions);
    expect(await l1.transactions(EMPTY.hash)).toEqual([]);
  });

  it.each([
    ["one missing", (list: unknown[]) => list.slice(1)],
    ["two swapped", ([a, b, ...rest]: unknown[]) => [b, a, ...rest]],
    ["a changed value", ([a, ...rest]: unknown[]) => [{ ...(a as object), value: "0x1" }, ...rest]],
    ["a changed signature", ([a, ...rest]: unknown[]) => [{ ...(a as object), yParity: "0x2" }, ...rest]],
  ])("never accepts a list with %s", async (_, change) => {
    const { l1, endpoint, faulty } = client();
    endpoint.override = () => ({ ...SMALL.fullJson, transactions: change(SMALL.fullJson.transactions as unknown[]) });
    await expect(l1.transactions(SMALL.hash)).rejects.toThrow(expect.objectContaining({ code: "l1/unavailable" }));
    expect(faulty).toHaveLength(4);
  });

  it("never accepts a list with a type made up, whose bytes no endpoint can have", async () => {
    const { l1, endpoint } = client();
    const [first, ...rest] = SMALL.fullJson.transactions as object[];
    endpoint.override = (method) =>
      method === "eth_getBlockByHash" ? { ...SMALL.fullJson, transactions: [{ ...first, type: "0x5" }, ...rest] } : undefined;
    await expect(l1.transactions(SMALL.hash)).rejects.toMatchObject({ code: "l1/unavailable", cause: { code: "l1/raw-needed" } });
  });
});

describe("L1Client receipts", () => {
  it.each([
    ["standard", ["eth_getBlockReceipts"]],
    ["debug_geth", ["debug_getRawReceipts"]],
    ["basic", Array(20).fill("eth_getTransactionReceipt")],
    ["infura", Array(20).fill("eth_getTransactionReceipt")],
    ["quicknode", ["debug_getRawReceipts"]],
    // unsupported methods are dropped one after the other
    ["alchemy", ["alchemy_getTransactionReceipts", ...Array(20).fill("eth_getTransactionReceipt")]],
    ["any", ["alchemy_getTransactionReceipts", "debug_getRawReceipts"]],
    ["erigon", ["erigon_getBlockReceiptsByBlockHash", ...Array(20).fill("eth_getTransactionReceipt")]],
  ] as const)("fetches as %s does", async (rpcKind, expectedCalls) => {
    const { l1, endpoint } = client({ rpcKind });
    await l1.blockByNumber(102);
    expect(await l1.receipts(LARGE.hash)).toEqual(LARGE.receipts);
    expect(endpoint.calls.slice(2)).toEqual(expectedCalls);
  });

  it.each([
    ["alchemy", LARGE, "alchemy_getTransactionReceipts"],
    ["alchemy", SMALL, "eth_getTransactionReceipt"], // up to 16 transactions, one by one is cheaper
    ["quicknode", SMALL, "debug_getRawReceipts"],
    ["infura", SMALL, "eth_getTransactionReceipt"],
    ["parity", SMALL, "parity_getBlockReceipts"],
    ["nethermind", SMALL, "parity_getBlockReceipts"],
    ["debug_geth", SMALL, "debug_getRawReceipts"],
    ["erigon", SMALL, "erigon_getBlockReceiptsByBlockHash"],
    ["basic", SMALL, "eth_getTransactionReceipt"],
    ["any", SMALL, "alchemy_getTransactionReceipts"],
    ["standard", SMALL, "eth_getBlockReceipts"],
  ] as const)("takes the cheapest way that %s has", async (rpcKind, block, expected) => {
    const { l1, endpoint } = client({ rpcKind });
    for (const method of ["alchemy_getTransactionReceipts", "parity_getBlockReceipts", "erigon_getBlockReceiptsByBlockHash"]) {
      endpoint.extraMethods.add(method);
    }
    await l1.transactions(block.hash);
    endpoint.calls.length = 0;
    expect(await l1.receipts(block.hash)).toEqual(block.receipts);
    expect(new Set(endpoint.calls)).toEqual(new Set([expected]));
  });

  it("tries an unsupported method again after a minute", async () => {
    const { l1, endpoint, clock } = client({ cacheSize: 1 });
    let isSupported = false;
    endpoint.override = (method) => {
      if (method === "eth_getBlockReceipts" && !isSupported) throw new RpcError(-32601, "no such method");
      return undefined;
    };
    await l1.receipts(SMALL.hash);
    isSupported = true;
    endpoint.calls.length = 0;
    await l1.receipts(LARGE.hash);
    expect(endpoint.calls).not.toContain("eth_getBlockReceipts");
    clock.now += 60_000;
    endpoint.calls.length = 0;
    await l1.receipts(SMALL.hash);
    expect(endpoint.calls).toContain("eth_getBlockReceipts");
  });

  it.each([
    ["null", () => null],
    ["one missing", (list: Record<string, unknown>[]) => list.slice(1)],
    ["a changed status", (list: Record<string, unknown>[]) => [{ ...list[0]!, status: "0x0" }, ...list.slice(1)]],
    ["a changed gasUsed", (list: Record<string, unknown>[]) => [{ ...list[0]!, gasUsed: "0x1" }, ...list.slice(1)]],
    ["another block's hash", (list: Record<string, unknown>[]) => [{ ...list[0]!, blockHash: EMPTY.hash }, ...list.slice(1)]],
    ["a wrong index", (list: Record<string, unknown>[]) => [{ ...list[0]!, transactionIndex: "0x1" }, ...list.slice(1)]],
    [
      "a removed log",
      (list: Record<string, unknown>[]) => [
        { ...list[0]!, logs: (list[0]!.logs as object[]).map((log) => ({ ...log, removed: true })) },
        ...list.slice(1),
      ],
    ],
    [
      "a wrong log index",
      (list: Record<string, unknown>[]) => [
        { ...list[0]!, logs: (list[0]!.logs as object[]).map((log) => ({ ...log, logIndex: "0x7" })) },
        ...list.slice(1),
      ],
    ],
    ["logs left out", (list: Record<string, unknown>[]) => [{ ...list[0]!, logs: [] }, ...list.slice(1)]],
  ])("never accepts %s, trusted or not", async (_, change) => {
    for (const trustRpc of [false, true]) {
      const { l1, endpoint, faulty } = client({ trustRpc });
      endpoint.override = (method) => (method === "eth_getBlockReceipts" ? change(SMALL.receiptsJson) : undefined);
      await expect(l1.receipts(SMALL.hash)).rejects.toThrow(expect.objectContaining({ code: "l1/unavailable" }));
      expect(faulty).toHaveLength(4);
      // the answer was not cached
      endpoint.override = () => undefined;
      expect(await l1.receipts(SMALL.hash)).toEqual(SMALL.receipts);
    }
  });

  it("never accepts raw receipts of another block", async () => {
    const { l1, endpoint } = client({ rpcKind: "debug_geth" });
    endpoint.override = (method) => (method === "debug_getRawReceipts" ? LARGE.rawReceipts.slice(1, 4) : undefined);
    await expect(l1.receipts(SMALL.hash)).rejects.toThrow(expect.objectContaining({ code: "l1/unavailable" }));
  });
});

describe("L1Client failures", () => {
  it("retries with growing delays, then fails as temporary", async () => {
    const { l1, endpoint, clock, failed } = client();
    endpoint.override = () => {
      throw new RpcTransportError("rpc/unreachable", {});
    };
    const error = await l1.blockByNumber(101).catch((caught: unknown) => caught);
    expect(isCodedError(error, "l1/unavailable")).toBe(true);
    expect(clock.sleptMs).toEqual([250, 500, 1000]);
    expect(failed).toHaveLength(4);
  });

  it("goes to the next endpoint when one is faulty, and stays there", async () => {
    const endpoints = [new FakeEndpoint([...BLOCKS]), new FakeEndpoint([...BLOCKS])];
    const { l1, faulty } = client({}, endpoints);
    endpoints[0]!.override = () => ({ ...SMALL.json, stateRoot: OTHER_VALUES.stateRoot });
    expect((await l1.blockByNumber(101))?.hash).toBe(SMALL.hash);
    await l1.blockByNumber(102);
    // bytes are requested if the JSON cannot determine them
    expect(endpoints[0]!.calls).toEqual(["eth_getBlockByNumber", "debug_getRawHeader", "debug_getRawBlock"]);
    expect(faulty).toEqual(["endpoint-0"]);
  });

  it("never uses an endpoint of another chain", async () => {
    const endpoints = [new FakeEndpoint([...BLOCKS]), new FakeEndpoint([...BLOCKS])];
    const { l1, faulty } = client({ chainId: 900n }, endpoints);
    endpoints[1]!.override = (method) => (method === "eth_chainId" ? "0x1" : undefined);
    expect((await l1.blockByNumber(101))?.hash).toBe(SMALL.hash);
    expect(endpoints[0]!.calls).toEqual(["eth_chainId", "eth_getBlockByNumber"]);
    await l1.blockByNumber(102);
    expect(endpoints[0]!.calls).toHaveLength(3); // requested once
    endpoints[0]!.override = () => {
      throw new RpcTransportError("rpc/unreachable", {});
    };
    await expect(l1.blockByNumber(101)).rejects.toThrow(expect.objectContaining({ code: "l1/unavailable" }));
    expect(endpoints[1]!.calls.every((method) => method === "eth_chainId")).toBe(true);
    expect(faulty).toEqual(["endpoint-1", "endpoint-1"]);
    expect(await l1.chainIds()).toEqual([
      { endpoint: "endpoint-0", chainId: undefined, failure: expect.any(Error) },
      { endpoint: "endpoint-1", chainId: 1n, failure: undefined },
    ]);
    endpoints[1]!.override = endpoints[0]!.override;
    await expect(l1.chainIds()).rejects.toThrow(expect.objectContaining({ code: "l1/unavailable" }));
  });

  it("does not retry when the client is being closed or when the mistake is ours", async () => {
    for (const mistake of [new RpcTransportError("rpc/closed", {}), new TypeError("bug")]) {
      const { l1, endpoint, clock } = client();
      endpoint.override = () => {
        throw mistake;
      };
      await expect(l1.blockByNumber(101)).rejects.toBe(mistake);
      expect(clock.sleptMs).toEqual([]);
    }
  });
});

/** A chain of blocks from number 100 on. */
function chainOf(transactionCounts: readonly number[]): BlockFixture[] {
  const blocks: BlockFixture[] = [];
  for (const [index, count] of transactionCounts.entries()) {
    const parent = blocks.at(-1);
    blocks.push(blockFixture(100 + index, count, parent === undefined ? undefined : hexToBytes(parent.hash)));
  }
  return blocks;
}

describe("L1Client requests", () => {
  function counted(blocks: BlockFixture[], fakes = [new FakeEndpoint(blocks)]) {
    const asked = { head: 0, header: 0, block: 0, receipts: 0 };
    let read = 0;
    const metrics = { asked: (kind: keyof typeof asked, count: number) => (asked[kind] += count), blockRead: () => read++ };
    const made = client({}, fakes, metrics);
    return { ...made, asked, blocksRead: () => read };
  }

  it("asks at most once for a block and once for its receipts, whoever needs them, while it follows the head", async () => {
    const chain = chainOf([2, 3, 0, 1, 4, 2, 1]);
    const { l1, endpoint, asked, blocksRead } = counted([]);
    for (const block of chain) {
      endpoint.blocks.push(block);
      const { number, hash } =
        block.header.number === 100 ? { ...block.header, hash: block.hash } : (await l1.blockByLabel("latest"))!;
      if (number === 100) await l1.blockByLabel("latest");
      // a sequencer, which looks for its next origin, and derivation
      for (const reader of [1, 2]) {
        expect((await l1.blockByNumber(number))?.hash, `reader ${reader}`).toBe(hash);
        expect(await l1.transactions(hash)).toEqual(block.transactions);
        expect(await l1.receipts(hash)).toEqual(block.receipts);
      }
      // a reader that keeps a distance
      if (number > 102) expect((await l1.blockByNumber(number - 2))?.number).toBe(number - 2);
    }
    const withTransactions = chain.filter(({ transactions }) => transactions.length > 0).length;
    expect(asked).toEqual({ head: chain.length, header: 0, block: withTransactions, receipts: withTransactions });
    expect(blocksRead()).toBe(withTransactions);
  });

  it("finds the block before the head by its parent hash, and asks by number where links or the head are missing", async () => {
    const chain = chainOf([1, 1, 1, 1]);
    const { l1, clock, asked } = counted(chain);
    await l1.blockByLabel("latest");
    expect((await l1.blockByNumber(102))?.hash).toBe(chain[2]!.hash);
    expect(asked).toMatchObject({ block: 1, header: 0 });
    expect((await l1.blockByNumber(100))?.hash).toBe(chain[0]!.hash);
    expect(asked).toMatchObject({ header: 1 });
    clock.now += 60_000;
    await l1.blockByNumber(103);
    expect(asked).toMatchObject({ header: 2 });
  });

  it("takes the transactions with a block that has to be asked for by number, for a reader of blocks", async () => {
    const chain = chainOf([2, 2]);
    const { l1, asked, endpoint } = counted(chain);
    const block = (await l1.blockToRead(100))!;
    expect(await l1.transactions(block.hash)).toEqual(chain[0]!.transactions);
    expect(await l1.receipts(block.hash)).toEqual(chain[0]!.receipts);
    expect(await l1.blockToRead(105)).toBeUndefined();
    expect(asked).toEqual({ head: 0, header: 0, block: 2, receipts: 1 });
    endpoint.override = () => ({ ...chain[1]!.fullJson, transactions: [] });
    await expect(l1.blockToRead(101)).rejects.toThrow(expect.objectContaining({ code: "l1/unavailable" }));
  });

  it("follows a reorganisation as soon as the head says it", async () => {
    const { l1, endpoint } = counted(chainOf([1, 2]));
    await l1.blockByLabel("latest");
    const other = chainOf([1, 3, 1]);
    endpoint.blocks.splice(0, 2, ...other);
    await l1.blockByLabel("latest");
    expect((await l1.blockByNumber(101))?.hash).toBe(other[1]!.hash);
  });

  it("reads many blocks in two batches, and verifies each", async () => {
    const chain = chainOf([2, 0, 3, 1]);
    const { l1, endpoint, asked } = counted(chain);
    const { headers, sizeBytes } = await l1.readBlocks(100, 6);
    expect(headers.map(({ hash }) => hash)).toEqual(chain.map(({ hash }) => hash));
    expect(sizeBytes).toBeGreaterThan(6 * 1_200);
    expect(endpoint.batches).toEqual([6, 3]);
    for (const { hash, transactions, receipts } of chain) {
      expect(await l1.transactions(hash)).toEqual(transactions);
      expect(await l1.receipts(hash)).toEqual(receipts);
    }
    expect(endpoint.batches).toHaveLength(2);
    expect(asked).toMatchObject({ header: 0, block: 6, receipts: 3 });
  });

  it.each<[string, (json: Record<string, unknown>) => unknown]>([
    ["another block", () => LARGE.fullJson],
    ["a changed transaction", (json) => ({ ...json, transactions: [] })],
    ["a changed header", (json) => ({ ...json, stateRoot: OTHER_VALUES.stateRoot })],
  ])("takes no batch with %s", async (_, lie) => {
    const chain = chainOf([2, 2]);
    const { l1, endpoint, faulty } = counted(chain);
    endpoint.override = (method, [id]) =>
      method === "eth_getBlockByNumber" && id === "0x65" ? lie(chain[1]!.fullJson) : undefined;
    await expect(l1.readBlocks(100, 2)).rejects.toThrow(expect.objectContaining({ code: "l1/unavailable" }));
    expect(faulty).toHaveLength(4);
  });

  it("takes receipts of a batch only if they match, and goes to another method if one is not known", async () => {
    const chain = chainOf([2, 2]);
    const { l1, endpoint } = counted(chain);
    endpoint.override = (method) => (method === "eth_getBlockReceipts" ? chain[0]!.receiptsJson : undefined);
    await expect(l1.readBlocks(100, 2)).rejects.toThrow(expect.objectContaining({ code: "l1/unavailable" }));
    endpoint.override = (method) => {
      if (method === "eth_getBlockReceipts") throw new RpcError(-32601, "no such method");
      return undefined;
    };
    await l1.readBlocks(100, 2);
    expect(await l1.receipts(chain[1]!.hash)).toEqual(chain[1]!.receipts);
  });

  it("keeps within its memory, and keeps what was used last", async () => {
    const chain = chainOf([20, 20, 20, 20]);
    const roomFor = (blocks: number) =>
      client({ cacheSize: 900, cacheBytes: blocks * 20 * 1_300 * (16 / 6) }, [new FakeEndpoint(chain)]);
    const { l1, endpoint } = roomFor(2);
    await l1.transactions(chain[0]!.hash);
    await l1.transactions(chain[1]!.hash);
    await l1.transactions(chain[0]!.hash);
    await l1.transactions(chain[2]!.hash); // 1 makes room
    expect(endpoint.calls).toHaveLength(3);
    await l1.transactions(chain[0]!.hash);
    expect(endpoint.calls).toHaveLength(3);
    await l1.transactions(chain[1]!.hash);
    expect(endpoint.calls).toHaveLength(4);
  });

  it("keeps as many blocks as it is told, beyond 1,000 too", async () => {
    const chain = chainOf(Array(1_200).fill(0));
    const { l1, endpoint } = client({ cacheSize: 1_200 }, [new FakeEndpoint(chain)]);
    for (const { hash } of chain) await l1.blockByHash(hash);
    endpoint.calls.length = 0;
    for (const { hash } of chain) await l1.blockByHash(hash);
    expect(endpoint.calls).toEqual([]);
  });
});
