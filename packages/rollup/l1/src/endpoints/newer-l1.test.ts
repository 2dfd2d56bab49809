import { RpcError } from "@rnode/jsonrpc";
import { bytesToHex, keccak256 } from "@rnode/primitives";
import { depositsFromReceipts, type Log, TRANSACTION_DEPOSITED_TOPIC, userDepositSourceHash } from "@rnode/protocol";
import { describe, expect, it } from "vitest";
import { L1Client, type L1ClientOptions } from "../l1-client.ts";
import { L1_RPC_KINDS } from "../receipts-fetcher.ts";
import { FakeClock, FakeEndpoint } from "../testing/fake-endpoint.ts";
import { type ForeignBlock, type ForeignBlockOptions, foreignBlock, type ReceiptForm } from "../testing/foreign-block.ts";
import { L1Endpoints } from "./endpoints.ts";

const filled = (length: number, byte: number): Uint8Array => new Uint8Array(length).fill(byte);

const PORTAL = filled(20, 0xde);
const RAW_METHODS = [
  "debug_getRawHeader",
  "debug_getRawBlock",
  "eth_getRawTransactionByHash",
  "eth_getRawTransactionByBlockHashAndIndex",
];
const TRANSFER: Log = {
  address: filled(20, 0xff).fill(0xfe, 19),
  topics: [keccak256(new TextEncoder().encode("Transfer(address,address,uint256)")), filled(32, 1), filled(32, 2)],
  data: filled(32, 9),
};

function depositLog(seed: number): Log {
  const opaque = new Uint8Array(96);
  opaque[95] = 0;
  const data = new Uint8Array(64 + 96);
  data[31] = 32;
  data[63] = 73;
  data.set(opaque, 64);
  return { address: PORTAL, topics: [TRANSACTION_DEPOSITED_TOPIC, filled(32, seed), filled(32, seed + 1), filled(32, 0)], data };
}

interface Line {
  readonly text: string;
  readonly fields: Record<string, unknown> | undefined;
}

function setUp(
  blocks: readonly ForeignBlock[],
  offered: readonly (readonly string[])[] = [RAW_METHODS],
  options: Partial<L1ClientOptions> = {},
  prepare: (endpoint: FakeEndpoint) => void = () => {},
) {
  const clock = new FakeClock();
  const lines: Line[] = [];
  const log = { warn: (text: string, fields?: Record<string, unknown>) => lines.push({ text, fields }), debug: () => {} };
  const rpcs = offered.map((methods) => {
    const rpc = new FakeEndpoint([...blocks]);
    for (const method of methods) rpc.extraMethods.add(method);
    prepare(rpc);
    return rpc;
  });
  const endpoints = new L1Endpoints(
    { chainId: 900n },
    { endpoints: rpcs.map((rpc, index) => ({ name: `endpoint ${index}`, rpc })), clock, log },
  );
  const l1 = new L1Client({ trustRpc: false, rpcKind: "standard", cacheSize: 10, ...options }, { endpoints, clock, log });
  return { l1, rpcs, lines, clock };
}

/** Derivation's requests for a block. */
async function read(l1: L1Client, { hash, header }: ForeignBlock) {
  const block = await l1.blockToRead(header.number);
  const [transactions, receipts, hashes] = [await l1.transactions(hash), await l1.receipts(hash), await l1.transactionHashes(hash)];
  return { block, transactions, receipts, hashes: hashes?.map(bytesToHex) };
}

async function expectRead(l1: L1Client, block: ForeignBlock, types: ForeignBlockOptions["types"]): Promise<void> {
  const found = await read(l1, block);
  expect(found.block?.hash).toBe(block.hash);
  expect(found.hashes).toEqual(block.transactionHashes);
  expect(found.transactions?.map((each) => (each.type === "unknown" ? each.typeByte : each))).toEqual(
    types.map((type, index) => type ?? block.transactions[index]),
  );
  expect(found.receipts?.map(({ logs }) => logs)).toEqual(block.logs);
  const { deposits } = depositsFromReceipts(found.receipts!, PORTAL, filled(32, 0x11));
  const places = block.logs.flat().flatMap(({ address }, index) => (address === PORTAL ? [index] : []));
  expect(deposits.map(({ sourceHash }) => sourceHash)).toEqual(places.map((at) => userDepositSourceHash(filled(32, 0x11), at)));
}

/** Every way to place up to two unknown types among four transactions, next to each other, first and last included. */
const PLACES: ForeignBlockOptions["types"][] = [];
for (let first = 0; first < 4; first++) {
  for (let second = first; second < 4; second++) {
    PLACES.push([0, 1, 2, 3].map((at) => (at === first ? 0x05 : at === second ? 0x7f : undefined)));
  }
}
PLACES.push(
  [0x06],
  [0x06, 0x06],
  Array.from({ length: 20 }, (_, index) => (index % 2 === 0 ? 0x06 : undefined)),
);

/** Alternately transfers, deposits and no logs, so a wrong log index is detected. */
const LOGS = (index: number): readonly Log[] =>
  [[TRANSFER, depositLog(index)], [], [depositLog(index), TRANSFER, depositLog(index + 50)]][index % 3]!;

describe("L1Client and transactions of unknown types", () => {
  const forms: readonly ReceiptForm[] = ["usual", "more", "nested"];
  it.each(forms.flatMap((form) => PLACES.map((types) => [form, types] as const)))(
    "reads %s receipts of %j",
    async (form, types) => {
      const block = foreignBlock({ number: 100, types, receiptForm: form, logs: LOGS });
      for (const rpcKind of ["standard", "basic", "debug_geth"] as const) {
        const { l1 } = setUp([block], undefined, { rpcKind });
        await expectRead(l1, block, types);
      }
      const batch = setUp([block]);
      expect((await batch.l1.readBlocks(100, 1)).headers.map(({ hash }) => hash)).toEqual([block.hash]);
      await expectRead(batch.l1, block, types);
    },
  );

  it.each(RAW_METHODS.slice(1))("needs only one of the methods: %s", async (method) => {
    for (const count of [1, 12]) {
      const types = Array.from({ length: count + 1 }, (_, index) => (index < count ? 0x05 : undefined));
      const block = foreignBlock({ number: 100, types });
      await expectRead(setUp([block], [[method]]).l1, block, types);
    }
  });

  it.each([[[]], [["usual"]], [["more"]], [["nested"]]] as const)("reads large blocks receipt by receipt: %j", async ([form]) => {
    const types = [undefined, form === undefined ? undefined : 0x05, undefined];
    const block = foreignBlock({ number: 100, types, receiptForm: form, logs: LOGS, gasUsed: 200_000_000n });
    for (const rpcKind of L1_RPC_KINDS) {
      for (const hasDebug of form === undefined || form === "usual" ? [true, false] : [true]) {
        const { l1, rpcs } = setUp([block], undefined, { rpcKind }, (rpc) => {
          rpc.override = (method) => {
            if (method === "debug_getRawReceipts" && !hasDebug) throw new RpcError(-32000, "not for you");
            return undefined;
          };
          for (const method of ["parity_getBlockReceipts", "erigon_getBlockReceiptsByBlockHash"]) rpc.extraMethods.add(method);
        });
        await expectRead(l1, block, types);
        expect(rpcs[0]!.calls.filter((method) => /Receipts?(ByBlockHash)?$/.test(method))[0]).toBe("debug_getRawReceipts");
        await l1.readBlocks(100, 1);
        await expectRead(l1, block, types);
      }
    }
  });

  it.each([null, "0x", "0x05c0"])(
    "takes the block from an endpoint that has no index of transactions, and answers %j by hash",
    async (none) => {
      const block = foreignBlock({ number: 100, types: [undefined, 0x05] });
      const { l1 } = setUp([block], undefined, {}, (rpc) => {
        rpc.override = (method) => (method === "eth_getRawTransactionByHash" ? none : undefined);
      });
      await expectRead(l1, block, [undefined, 0x05]);
    },
  );

  it("says it once an hour for each type, and not of known types", async () => {
    const blocks = [100, 101, 102].map((number) => foreignBlock({ number, types: [undefined, number === 102 ? undefined : 0x05] }));
    const { l1, lines, clock } = setUp(blocks);
    for (const block of [blocks[2]!, blocks[0]!, blocks[1]!]) await read(l1, block);
    expect(lines.map(({ fields }) => fields)).toEqual([
      { what: "transaction type 0x5", l1Block: 100 },
      { what: "receipt type 0x5", l1Block: 100 },
    ]);
    clock.now += 3_600_000;
    const again = setUp(blocks);
    await read(again.l1, blocks[0]!);
    await l1.receipts(blocks[0]!.hash);
    expect(lines).toHaveLength(3);
  });

  it("goes to the endpoint that has the bytes, and without one says once what helps", async () => {
    const types = [0x05, undefined];
    const block = foreignBlock({ number: 100, types });
    await expectRead(setUp([block], [[], RAW_METHODS]).l1, block, types);
    for (const endpoints of [[[]], [[], []]]) {
      const { l1, lines, rpcs, clock } = setUp([block], endpoints);
      for (let attempt = 0; attempt < 3; attempt++) {
        await expect(l1.blockToRead(100)).rejects.toMatchObject({ code: "l1/unavailable", cause: { code: "l1/raw-needed" } });
      }
      expect(lines).toEqual([
        {
          text: "L1 is newer than this version, and a block cannot be read",
          fields: {
            l1Block: 100,
            reason: expect.stringMatching(/type 0x5.*update.*eth_getRawTransactionByHash or debug_getRawBlock/),
          },
        },
      ]);
      expect(clock.sleptMs.every((ms) => ms >= 250)).toBe(true);
      expect(rpcs.flatMap(({ calls }) => calls).length).toBeLessThan(80);
    }
  });

  it("needs no bytes where the endpoint is trusted", async () => {
    const types = [0x05, undefined];
    const block = foreignBlock({ number: 100, types });
    await expectRead(setUp([block], [[]], { trustRpc: true }).l1, block, types);
  });

  it("believes no bytes that do not fit", async () => {
    const types = [undefined, 0x05, undefined];
    const block = foreignBlock({ number: 100, types, receiptForm: "more" });
    const other = foreignBlock({ number: 100, types: [0x05, 0x06, 0x06], receiptForm: "nested" });
    const wrong: Record<string, unknown[]> = {
      eth_getRawTransactionByHash: [null, "0x", "0x05", 5, other.rawTransactions[2], block.rawTransactions[0]],
      eth_getRawTransactionByBlockHashAndIndex: [null, "0x", other.rawTransactions[1]],
      debug_getRawBlock: [null, "0x", "0xc0", "0xc1c0", other.rawBlock, block.rawBlock.slice(0, -2)],
      debug_getRawReceipts: [null, [], ["0x"], other.rawReceipts, block.rawReceipts.toReversed(), block.rawReceipts.slice(1)],
    };
    for (const [method, answers] of Object.entries(wrong)) {
      for (const answer of answers) {
        const only = method === "debug_getRawReceipts" ? RAW_METHODS : [method];
        const { l1 } = setUp([block], [only], {}, (rpc) => {
          rpc.override = (asked) => (asked === method ? answer : undefined);
        });
        await expect(read(l1, block), `${method} ${JSON.stringify(answer)?.slice(0, 40)}`).rejects.toMatchObject({
          code: "l1/unavailable",
        });
      }
    }
  });

  it("does not take receipts whose logs it cannot find for receipts without logs", async () => {
    const block = foreignBlock({ number: 100, types: [0x05], receiptForm: "nested", logs: () => [depositLog(1)] });
    const topicsAsOne = { ...depositLog(1), topics: [filled(64, 1)] };
    const unreadable = foreignBlock({ number: 101, types: [0x05], receiptForm: "nested", logs: () => [topicsAsOne] });
    const { l1, lines } = setUp([block, unreadable]);
    await expectRead(l1, block, [0x05]);
    await expect(read(l1, unreadable)).rejects.toMatchObject({ code: "l1/unavailable", cause: { code: "l1/unreadable" } });
    expect(lines.at(-1)?.fields).toMatchObject({ l1Block: 101, reason: expect.stringMatching(/receipt of type 0x5.*update/) });
  });
});

describe("L1Client and fields that it does not know", () => {
  const FIELDS = [{ inclusionListHash: bytesToHex(filled(32, 3)) }, { a: "0x01", b: "0x" } as const];

  it.each(FIELDS)("reads a header with %j by its bytes", async (headerFields) => {
    const types = [undefined, undefined];
    const block = foreignBlock({ number: 100, types, headerFields });
    for (const methods of [["debug_getRawHeader"], ["debug_getRawBlock"]]) {
      const { l1, lines } = setUp([block], [methods]);
      expect((await l1.blockByLabel("latest"))?.hash).toBe(block.hash);
      await expectRead(l1, block, types);
      expect(lines.map(({ fields }) => fields)).toEqual([{ what: "header fields", l1Block: 100 }]);
      expect((await setUp([block], [methods]).l1.blockByHash(block.hash))?.header.slotNumber).toBe(1_100n);
      await expectRead(setUp([block], [[], methods]).l1, block, types);
    }
    await expectRead(setUp([block], [[]], { trustRpc: true }).l1, block, types);
  });

  it("says once what helps where the bytes are not to be had", async () => {
    const block = foreignBlock({ number: 100, types: [], headerFields: FIELDS[0]! });
    const { l1, lines } = setUp([block], [[], []]);
    for (let attempt = 0; attempt < 3; attempt++) await expect(l1.blockByLabel("latest")).rejects.toThrow(/debug_getRawHeader/);
    expect(lines.map(({ fields }) => fields?.reason)).toEqual([expect.stringMatching(/inclusionListHash.*update/)]);
  });

  it("believes no header whose bytes do not fit, and no JSON that the bytes contradict", async () => {
    const block = foreignBlock({ number: 100, types: [], headerFields: FIELDS[0]! });
    const known = foreignBlock({ number: 100, types: [] });
    for (const rawHeader of [null, "0x", "0xc0", known.rawHeader, block.rawHeader.slice(0, -2), `${block.rawHeader}00`]) {
      const { l1 } = setUp([block], [["debug_getRawHeader"]], {}, (rpc) => {
        rpc.override = (method) => (method === "debug_getRawHeader" ? rawHeader : undefined);
      });
      await expect(l1.blockByHash(block.hash)).rejects.toMatchObject({ code: "l1/unavailable" });
    }
    const { l1 } = setUp([known], undefined, {}, (rpc) => {
      rpc.override = (method) =>
        method === "eth_getBlockByHash" ? { ...known.json, stateRoot: bytesToHex(filled(32, 9)) } : undefined;
    });
    await expect(l1.blockByHash(known.hash)).rejects.toMatchObject({ code: "l1/unavailable", cause: { code: "l1/faulty-answer" } });
  });

  it("reads receipts of known types with more fields by their bytes, and believes no JSON that bytes of known types contradict", async () => {
    const types = [undefined, undefined];
    const block = foreignBlock({ number: 100, types, allReceiptsHaveMore: true, logs: LOGS });
    for (const rpcKind of ["standard", "basic", "debug_geth"] as const)
      await expectRead(setUp([block], undefined, { rpcKind }).l1, block, types);
    const known = foreignBlock({ number: 100, types });
    const { l1 } = setUp([known], undefined, {}, (rpc) => {
      rpc.override = (method) =>
        method === "eth_getBlockReceipts" ? known.receiptsJson.map((receipt) => ({ ...receipt, status: "0x0" })) : undefined;
    });
    await expect(l1.receipts(known.hash)).rejects.toMatchObject({ code: "l1/unavailable", cause: { code: "l1/faulty-answer" } });
  });

  it("does not compare the gas of the header with that of the receipts", async () => {
    const block = foreignBlock({ number: 100, types: [undefined, undefined] });
    expect(block.header.gasUsed).not.toBe(block.receipts.at(-1)!.cumulativeGasUsed);
    const { l1, lines } = setUp([block], [[]]);
    await expectRead(l1, block, [undefined, undefined]);
    expect(lines).toEqual([]);
  });
});
