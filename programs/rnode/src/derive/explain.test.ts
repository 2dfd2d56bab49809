import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { deflateSync } from "node:zlib";
import { AltDaError } from "@rnode/alt-da";
import { createDecompressor } from "@rnode/compression";
import { ExplainRun, explainRange, explanationLines, explanationToJson } from "@rnode/derivation";
import { anyJson, createRpcServer, method, optionalParam, param } from "@rnode/jsonrpc";
import { blockFixture, FakeEndpoint, foreignBlock } from "@rnode/l1/testing";
import { silentLogger } from "@rnode/observe";
import { bytesToHex, type Hex, privateKeyToAddress } from "@rnode/primitives";
import {
  type BlobTransaction,
  type DaCommitment,
  encodeBatcherData,
  encodeBlob,
  encodeDaCommitment,
  encodeTransaction,
  type FeeMarketTransaction,
  type Frame,
  hashTransaction,
  keccakCommitment,
  type L1BlockRef,
  MAX_DA_INPUT_BYTES,
  rollupConfigToJson,
  signTransaction,
  type Transaction,
} from "@rnode/protocol";
import { singularBatch } from "@rnode/protocol/testing";
import { describe, expect, it } from "vitest";
import { deriveCommand } from "../commands/derive-command.ts";
import { GENESIS_TIME_SEC, testConfig } from "../testing/fake-chain.ts";

const KEY = new Uint8Array(32).fill(0x0b);
const OTHER_KEY = new Uint8Array(32).fill(0x0c);
const BATCHER = privateKeyToAddress(KEY);
const CHANNEL = new Uint8Array(16).fill(7);
const config = testConfig();
const hash = (byte: number): Hex => bytesToHex(new Uint8Array(32).fill(byte));
const l1Block = (number: number): L1BlockRef => ({
  number,
  hash: hash(number),
  parentHash: hash(number - 1),
  timestamp: GENESIS_TIME_SEC + 12 * number,
});
const USER_TX = Uint8Array.of(0x02, 1, 2, 3);

const singular = (index: number, change: { epoch?: number; transactions?: Uint8Array[] } = {}): Uint8Array =>
  singularBatch({
    epochNumber: change.epoch ?? 1,
    epochHash: new Uint8Array(32).fill(change.epoch ?? 1),
    timestampSec: GENESIS_TIME_SEC + 12 + 2 * index,
    transactions: change.transactions ?? [USER_TX],
  });
const channelOf = (...batches: Uint8Array[]): Uint8Array => new Uint8Array(deflateSync(Buffer.concat(batches)));
const frame = (data: Uint8Array, number: number, isLast: boolean): Frame => ({ channelId: CHANNEL, number, data, isLast });
const fields = {
  chainId: config.l1ChainId,
  nonce: 0n,
  maxPriorityFeePerGas: 1n,
  maxFeePerGas: 10n,
  gasLimit: 100_000n,
  to: config.batchInboxAddress,
  value: 0n,
  accessList: [],
};
const calldata = (data: Uint8Array, key = KEY): FeeMarketTransaction => signTransaction({ ...fields, type: 0x02, data }, key);
const run = (): ExplainRun => new ExplainRun(config, createDecompressor());
const noBlobs = { blobs: () => Promise.reject(new Error("no blobs are asked for")) };

async function explained(
  blocks: readonly (readonly Transaction[])[],
  blobs = noBlobs as Parameters<typeof explainRange>[2]["blobs"],
) {
  const l1 = {
    blockByNumber: async (number: number) => ({ ...l1Block(number), baseFeePerGas: 1n, mixHash: new Uint8Array(32) }),
    blockByHash: async () => undefined,
    receipts: async () => [],
    transactions: async (blockHash: Hex) => blocks[Number.parseInt(blockHash.slice(2, 4), 16) - 1],
  };
  return explainRange({ from: 1, to: blocks.length, batcher: BATCHER }, run(), { l1, blobs, onBlock: () => {} });
}

describe("rnode derive --explain over a range of L1 blocks", () => {
  it("follows a channel through its frames to its batches", async () => {
    const content = channelOf(singular(0), singular(1));
    const half = content.length >> 1;
    const first = calldata(encodeBatcherData([frame(content.subarray(0, half), 0, false)]));
    const second = calldata(encodeBatcherData([frame(content.subarray(half), 1, true)]));
    const explanation = await explained([[first], [second]]);
    expect(explanationToJson(explanation)).toMatchObject({
      transactions: [
        {
          hash: bytesToHex(hashTransaction(first)),
          from: bytesToHex(BATCHER),
          frames: [{ number: 0, length: half, isLast: false }],
        },
        { frames: [{ channelId: bytesToHex(CHANNEL), number: 1, length: content.length - half, isLast: true }] },
      ],
      channels: [
        {
          id: bytesToHex(CHANNEL),
          compression: "zlib",
          bytes: content.length,
          events: [
            { l1Block: 1, event: "opened" },
            { l1Block: 2, event: "ready" },
            { l1Block: 2, event: "read" },
          ],
          batches: [
            {
              type: "singular",
              verdict: "undecided",
              blocks: [{ number: 6, timestamp: GENESIS_TIME_SEC + 12, epochNum: 1, txHashes: [expect.any(String)] }],
            },
            { blocks: [{ number: 7 }] },
          ],
        },
      ],
    });
    expect(explanationLines(explanation).join("\n")).toMatch(/singular batch in L1 block 2: block 6, 1 transactions/);
  });

  it("says why data, frames and batches are dropped", async () => {
    const content = channelOf(singular(0, { transactions: [Uint8Array.of(0x7e, 1)] }), singular(1, { epoch: 2 }));
    const explanation = await explained([
      [
        calldata(Uint8Array.of(9, 9)),
        calldata(encodeBatcherData([frame(content, 3, true)])),
        calldata(encodeBatcherData([frame(content, 0, true)])),
        calldata(encodeBatcherData([frame(content, 0, true)]), OTHER_KEY),
      ],
      [],
    ]);
    const json = explanationToJson(explanation) as { transactions: { dropped: unknown[]; frames: { dropped: unknown }[] }[] };
    const fates = json.transactions.map(({ dropped, frames }) => [dropped, frames.map((each) => each.dropped)]);
    expect(fates).toContainEqual([["unknown-version"], []]);
    expect(fates).toContainEqual([[null], ["no-channel"]]);
    expect(fates).toContainEqual([["not-from-batcher"], []]);
    expect(explanation.channels[0]!.batches.map(({ verdict, reason }) => [verdict, reason])).toEqual([
      ["drop", "deposit-transaction"],
      ["undecided", "the remaining rules need the L2 chain"],
    ]);
  });

  it("compares the epoch of a batch with the L1 blocks of the range", async () => {
    const wrongEpoch = singularBatch({
      epochNumber: 1,
      epochHash: new Uint8Array(32).fill(0xee),
      timestampSec: GENESIS_TIME_SEC + 12,
      transactions: [],
    });
    const explanation = await explained([[], [calldata(encodeBatcherData([frame(channelOf(wrongEpoch), 0, true)]))]]);
    expect(explanation.channels[0]!.batches).toMatchObject([{ verdict: "drop", reason: "epoch-hash-mismatch" }]);
  });

  it("reads blobs, by their place among all blobs of the block, and says which are bad", async () => {
    const content = encodeBatcherData([frame(channelOf(singular(0)), 0, true)]);
    const versionedHash = (byte: number): Uint8Array => Uint8Array.of(1, ...new Uint8Array(31).fill(byte));
    const blobTransaction = (key: Uint8Array, ...hashes: Uint8Array[]): BlobTransaction =>
      signTransaction(
        { ...fields, type: 0x03, data: new Uint8Array(), maxFeePerBlobGas: 1n, blobVersionedHashes: hashes },
        key,
      ) as BlobTransaction;
    const asked: number[] = [];
    const blobs = {
      blobs: async (_: L1BlockRef, ids: readonly { readonly index: number }[]) => {
        asked.push(...ids.map(({ index }) => index));
        return [new Uint8Array(131_072).fill(0xff), encodeBlob(content)];
      },
    };
    const foreign = blobTransaction(OTHER_KEY, versionedHash(1), versionedHash(2));
    const explanation = await explained([[foreign, blobTransaction(KEY, versionedHash(3), versionedHash(4))]], blobs);
    expect(asked).toEqual([2, 3]);
    expect(explanation.transactions.at(-1)!.data.map(({ dropped }) => dropped)).toEqual(["bad-blob", undefined]);
    expect(explanation.channels[0]!.batches).toHaveLength(1);
  });
});

describe("rnode derive --explain of files", () => {
  it("takes a signed transaction, its data, or a blob", async () => {
    const data = encodeBatcherData([frame(channelOf(singular(0)), 0, true)]);
    for (const [file, from] of [
      [encodeTransaction(calldata(data)), bytesToHex(BATCHER)],
      [data, undefined],
      [encodeBlob(data), undefined],
    ] as const) {
      const offline = run();
      await offline.readFiles(l1Block(3), [file]);
      expect(offline.result.transactions).toMatchObject([{ from, data: [{ frames: [{}] }] }]);
      expect(offline.result.channels).toMatchObject([{ compression: "zlib", batches: [{ verdict: "undecided" }] }]);
    }
  });
});

describe("the command", () => {
  const folder = mkdtempSync(join(tmpdir(), "rnode-explain-"));
  const file = (name: string, text: string): string => {
    const path = join(folder, name);
    writeFileSync(path, text);
    return path;
  };
  const rollupConfig = file("rollup.json", JSON.stringify(rollupConfigToJson(config)));
  async function derive(...args: string[]) {
    const out: string[] = [];
    const io = { out: (line: string) => out.push(line), err: (line: string) => out.push(line), progress: () => {} };
    const code = await deriveCommand([...args, `--rollup.config=${rollupConfig}`], {}, io);
    return { code, out };
  }

  it("explains files, each as JSON and as lines", async () => {
    const data = encodeBatcherData([frame(channelOf(singular(0)), 0, true)]);
    const files = [
      file("data.hex", `${bytesToHex(data)}\n`),
      file("transaction.hex", bytesToHex(encodeTransaction(calldata(Uint8Array.of(5)))).slice(2)),
    ];
    const json = await derive("--explain", "--data", ...files, "--l1-time=1700000100", "--json");
    expect(JSON.parse(json.out.join(""))).toMatchObject({
      transactions: [
        { from: null, frames: [{ channelId: bytesToHex(CHANNEL) }] },
        { from: bytesToHex(BATCHER), frames: [], dropped: ["unknown-version"] },
      ],
      channels: [{ batches: [{ blocks: [{ number: 6 }] }] }],
    });
    const lines = await derive("--explain", "--data", ...files, "--l1-time=1700000100");
    expect([lines.code, lines.out.join("\n")]).toEqual([
      0,
      expect.stringMatching(/dropped: unknown-version.*channel 0x0707.*zlib/s),
    ]);
  });

  it("says where L1 ends", async () => {
    const head = blockFixture(100, 0);
    const l1 = createRpcServer({
      http: { host: "127.0.0.1", port: 0 },
      methods: {
        eth_chainId: method({ params: [], handler: () => `0x${config.l1ChainId.toString(16)}` }),
        eth_getBlockByNumber: method({
          params: [param("block", anyJson), param("whole", anyJson)],
          handler: ([block]) => (block === "latest" ? head.json : null),
        }),
      },
      log: silentLogger,
    });
    const url = `http://127.0.0.1:${(await l1.listen()).httpPort}`;
    try {
      await expect(derive("--explain", "--from=99", "--to=101", `--l1=${url}`, "--l1.beacon.ignore")).rejects.toThrow(
        "--to=101 is after the L1 head, which is 100: name a block that L1 has",
      );
    } finally {
      await l1.close();
    }
  });

  it.each([
    ["is read from an endpoint with raw methods", true],
    ["says what helps where the endpoint has none", false],
  ])("an L1 block with a transaction of an unknown type %s", async (_, hasRawMethods) => {
    const block = foreignBlock({ number: 100, types: [0x06, undefined] });
    const fake = new FakeEndpoint([block]);
    const raw = ["eth_getRawTransactionByHash", "debug_getRawReceipts"];
    for (const name of raw) fake.extraMethods.add(name);
    const optional = ["a", "b", "c"].map((name) => optionalParam(name, anyJson));
    const names = [
      "eth_chainId",
      "eth_getBlockByNumber",
      "eth_getBlockByHash",
      "eth_getBlockReceipts",
      ...(hasRawMethods ? raw : []),
    ];
    const methods = Object.fromEntries(
      names.map((name) => [name, method({ params: optional, handler: (given) => fake.call(name, given) })]),
    );
    const l1 = createRpcServer({ http: { host: "127.0.0.1", port: 0 }, methods, log: silentLogger });
    const url = `http://127.0.0.1:${(await l1.listen()).httpPort}`;
    try {
      const explaining = derive("--explain", "--from=100", "--to=100", `--l1=${url}`, "--l1.beacon.ignore", "--json");
      if (hasRawMethods) expect(JSON.parse((await explaining).out.at(-1)!)).toMatchObject({ transactions: [], channels: [] });
      else await expect(explaining).rejects.toThrow(/type 0x6.*update this program, or name an L1 endpoint that offers eth_getRaw/);
    } finally {
      await l1.close();
    }
  });

  it("says what is missing or wrong", async () => {
    await expect(derive("--from=1", "--to=2")).rejects.toThrow("--explain is required");
    await expect(derive("--explain")).rejects.toThrow("give --from and --to, or --data");
    await expect(derive("--explain", "--from=3", "--to=2")).rejects.toThrow("--from=3 must not be after --to=2");
    await expect(derive("--explain", `--data=${folder}/none.hex`)).rejects.toThrow("cannot read");
    await expect(derive("--explain", `--data=${file("words.hex", "no hex")}`)).rejects.toThrow("is not hexadecimal");
    expect(await derive("--explain", "--data=x", "--from=1")).toMatchObject({ code: 1, out: [expect.stringContaining("exclude")] });
  });
});

describe("rnode derive --explain of a chain with data outside of L1", () => {
  const altDa = {
    daCommitmentType: "KeccakCommitment",
    daChallengeContractAddress: new Uint8Array(20),
    daChallengeWindow: 10,
    daResolveWindow: 10,
  } as const;
  const input = encodeBatcherData([frame(channelOf(singular(0)), 0, true)]);
  const commitment = keccakCommitment(input);
  const onL1 = (bytes: Uint8Array): Uint8Array => Uint8Array.of(1, ...bytes);

  async function fateOf(data: Uint8Array, get: ((commitment: DaCommitment) => Promise<Uint8Array | undefined>) | undefined) {
    const own = new ExplainRun({ ...config, altDa }, createDecompressor(), get && { get });
    await own.readFiles(l1Block(1), [data]);
    return own.result;
  }

  it("explains what a commitment stands for", async () => {
    const asked: DaCommitment[] = [];
    const { transactions, channels } = await fateOf(onL1(encodeDaCommitment(commitment)), async (one) => {
      asked.push(one);
      return input;
    });
    expect(asked).toEqual([commitment]);
    expect(transactions[0]!.data.map(({ dropped, frames }) => [dropped, frames.length])).toEqual([[undefined, 1]]);
    expect(channels.map(({ batches }) => batches.length)).toEqual([1]);
  });

  it.each<[string, Uint8Array, "missing" | "wrong" | "long" | "no server", string]>([
    ["no server has", encodeDaCommitment(commitment), "missing", "da-input-missing"],
    ["the server has wrong", encodeDaCommitment(commitment), "wrong", "da-input-wrong"],
    ["is too long", encodeDaCommitment(commitment), "long", "input-too-long"],
    ["nobody is asked for", encodeDaCommitment(commitment), "no server", "commitment-without-da-server"],
    ["has a commitment of another type", Uint8Array.of(1, 2, 3), "missing", "wrong-commitment-type"],
    ["has half a commitment", Uint8Array.of(0, 2, 3), "missing", "bad-commitment"],
  ])("says of data that %s what became of it", async (_, bytes, answer, reason) => {
    const get = async (): Promise<Uint8Array | undefined> => {
      if (answer === "wrong") throw new AltDaError("alt-da/wrong-data", { server: "s", commitment: "0x" });
      return answer === "long" ? new Uint8Array(MAX_DA_INPUT_BYTES + 1) : undefined;
    };
    const { transactions } = await fateOf(onL1(bytes), answer === "no server" ? undefined : get);
    expect(transactions[0]!.data.map(({ dropped }) => dropped)).toEqual([reason]);
  });
});
