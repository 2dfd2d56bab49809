import { existsSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";
import { createRpcClient } from "@rnode/jsonrpc";
import { createKzg, type Kzg } from "@rnode/kzg";
import { type TestBlob, testBlob } from "@rnode/kzg/testing";
import { BeaconClient, createBeaconMetrics, L1Client, L1Endpoints } from "@rnode/l1";
import { BLOB_RECEIVER, type BlockFixture, blockFixture, FakeBeacon, FakeEndpoint, foreignBlock } from "@rnode/l1/testing";
import { noMetrics } from "@rnode/observe";
import { bytesToHex, hexToBytes } from "@rnode/primitives";
import { hashTransaction } from "@rnode/protocol";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { checkBlobs, checkBlock } from "./check-l1.ts";
import { L1Store } from "./l1-store.ts";
import { type RecordL1Options, recordL1 } from "./record-l1.ts";
import { openRecording } from "./recording.ts";
import { replayL1 } from "./replay-cli.ts";
import { type ServeL1Options, serveL1 } from "./serve-l1.ts";

const GENESIS_TIME_SEC = 1_700_000_000;
const CLOCK = { unixMs: () => 0, monotonicMs: () => 0, sleep: () => Promise.resolve() };
const LOG = { warn: () => {}, debug: () => {} };

let blobs: readonly TestBlob[];
let blocks: readonly BlockFixture[];
let beacon: FakeBeacon;
let kzg: Kzg;
let folder: string;

beforeAll(async () => {
  kzg = createKzg();
  blobs = [1, 2].map((byte) => testBlob(new Uint8Array(131_072).fill(byte)));
  const made: BlockFixture[] = [];
  for (const count of [0, 2, 3]) {
    const parent = made.at(-1);
    const hashes = count === 3 ? blobs.map(({ versionedHash }) => versionedHash) : [];
    made.push(blockFixture(100 + made.length, count, parent && hexToBytes(parent.hash), hashes));
  }
  blocks = made;
  beacon = await FakeBeacon.start({ genesisTimeSec: GENESIS_TIME_SEC });
  beacon.add(102, blobs);
  folder = await record();
});
afterAll(async () => {
  await beacon.close();
  await kzg.close();
});

const clientOf = (urls: [string, ...string[]], slotSec?: number) =>
  new BeaconClient({ urls, fetchesAll: false, slotSec }, { kzg, clock: CLOCK, log: LOG, metrics: createBeaconMetrics(noMetrics) });

async function record(rpc = new FakeEndpoint([...blocks]), options: Partial<RecordL1Options> = {}): Promise<string> {
  const into = options.folder ?? mkdtempSync(join(tmpdir(), "rnode-recording-"));
  const client = clientOf([beacon.url]);
  const spec = { SECONDS_PER_SLOT: "12", SLOTS_PER_EPOCH: "32" };
  const chain = { genesis: { genesis_time: String(GENESIS_TIME_SEC) }, spec };
  try {
    await recordL1({ blocks: [100, 101, 102], ...options, folder: into }, { rpc, beacon: { chain, client } });
  } finally {
    await client.close();
  }
  return into;
}

/** All of the rollup node's reads of L1, with its own clients. */
async function readAll(store: L1Store, options: ServeL1Options = {}) {
  const server = await serveL1(store, options);
  const rpc = createRpcClient({ url: server.url });
  const endpoints = new L1Endpoints({ chainId: 900n }, { endpoints: [{ name: "replay", rpc }], clock: CLOCK, log: LOG });
  const l1 = new L1Client({ trustRpc: false, rpcKind: "standard", cacheSize: 10 }, { endpoints, clock: CLOCK });
  const client = clientOf([server.url]);
  try {
    const numbers = [100, 101, 102, 103];
    const read = await Promise.all(
      numbers.map(async (number) => {
        const block = await l1.blockByNumber(number);
        return (
          block && {
            header: block.header,
            transactions: await l1.transactions(block.hash),
            receipts: await l1.receipts(block.hash),
          }
        );
      }),
    );
    const ids = blobs.map(({ versionedHash }, index) => ({ index, versionedHash }));
    const withBlobs = (await l1.blockByNumber(102))!;
    const labels = await Promise.all((["latest", "finalized"] as const).map((label) => l1.blockByLabel(label)));
    return { read, blobs: await client.blobs(withBlobs, ids), labels: labels.map((each) => each?.number) };
  } finally {
    await client.close();
    await rpc.close();
    await server.close();
  }
}

describe("recording an L1 that is newer than this version", () => {
  const foreign = foreignBlock({
    number: 100,
    types: [undefined, 0x05],
    receiptForm: "nested",
    headerFields: { somethingNew: bytesToHex(new Uint8Array(32).fill(7)) },
  });

  it("keeps the bytes of a block, and replays them", async () => {
    const rpc = new FakeEndpoint([foreign]);
    rpc.extraMethods.add("debug_getRawBlock");
    const into = await record(rpc, { blocks: [100] });
    const store = openRecording(into);
    expect(store.first.hash).toBe(foreign.hash);
    await checkBlock(store, store.first, false);
  });

  it("says what helps where the bytes are not to be had", async () => {
    await expect(record(new FakeEndpoint([foreign]), { blocks: [100] })).rejects.toThrow(/block 100/);
  });
});

describe("a recorded L1", () => {
  it("gives the rollup node's clients the same blocks, transactions, receipts and blobs", async () => {
    const { read, blobs: found } = await readAll(openRecording(folder));
    expect(read).toEqual([...blocks.map(({ header, transactions, receipts }) => ({ header, transactions, receipts })), undefined]);
    expect(found?.map((blob) => Buffer.from(blob).equals(Buffer.from(blobs[0]!.blob)))).toEqual([true, false]);
    expect(Buffer.from(found![1]!).equals(Buffer.from(blobs[1]!.blob))).toBe(true);
  });

  it("counts the blobs of blocks that were recorded at the same time", async () => {
    const hashes = blobs.map(({ versionedHash }) => versionedHash);
    const first = blockFixture(200, 3, undefined, hashes);
    const second = blockFixture(201, 3, hexToBytes(first.hash), hashes);
    for (const number of [200, 201]) beacon.add(number, blobs);
    const into = mkdtempSync(join(tmpdir(), "rnode-recording-"));
    const client = clientOf([beacon.url]);
    const chain = { genesis: { genesis_time: String(GENESIS_TIME_SEC) }, spec: { SECONDS_PER_SLOT: "12", SLOTS_PER_EPOCH: "32" } };
    try {
      const deps = { rpc: new FakeEndpoint([first, second]), beacon: { chain, client } };
      expect(await recordL1({ folder: into, blocks: [200, 201] }, deps)).toEqual({ blocks: 2, blobs: 4 });
    } finally {
      await client.close();
    }
  });

  it("can be behind: what is after its head is not there, and finality is behind the head", async () => {
    const server = await serveL1(openRecording(folder), { head: 101, finalityBlocks: 1 });
    const rpc = createRpcClient({ url: server.url });
    const numberOf = async (id: string) => (await rpc.call<{ number: string } | null>("eth_getBlockByNumber", [id, false]))?.number;
    expect(await Promise.all(["latest", "finalized", "0x66"].map(numberOf))).toEqual(["0x65", "0x64", undefined]);
    expect(await rpc.call("eth_getBlockByHash", [blocks[2]!.hash, false])).toBeNull();
    expect((await fetch(`${server.url}/eth/v1/beacon/blobs/102`)).status).toBe(404);
    await rpc.close();
    await server.close();
  });

  it("answers receipts one by one, refuses questions about state and unknown methods, and survives what is no request", async () => {
    const server = await serveL1(openRecording(folder));
    const rpc = createRpcClient({ url: server.url });
    const { transactions, receiptsJson } = blocks[1]!;
    const hash = bytesToHex(hashTransaction(transactions[1]!));
    expect(await rpc.call("eth_getTransactionReceipt", [hash])).toEqual(receiptsJson[1]);
    await expect(rpc.call("eth_getBalance", [hash, "latest"])).rejects.toThrow("the state of L1 is not recorded");
    await expect(rpc.call("eth_sendRawTransaction", ["0x"])).rejects.toMatchObject({ code: -32601 });
    const post = async (body: string) => (await (await fetch(server.url, { method: "POST", body })).json()) as object;
    expect(await post("{")).toMatchObject({ error: { code: -32700 } });
    expect(await post('{"id":7}')).toMatchObject({ id: 7, error: { code: -32600 } });
    await rpc.close();
    await server.close();
  });

  it("serves sidecars with proofs to those who ask for them", async () => {
    const server = await serveL1(openRecording(folder));
    const response = await fetch(`${server.url}/eth/v1/beacon/blob_sidecars/102?indices=1`);
    const { data } = (await response.json()) as { data: { index: string; kzg_commitment: string; kzg_proof: string }[] };
    expect(data.map(({ index, kzg_commitment: commitment }) => [index, commitment])).toEqual([
      ["1", bytesToHex(blobs[1]!.commitment)],
    ]);
    const proof = hexToBytes(data[0]!.kzg_proof);
    expect(await kzg.verifyBlobProof(blobs[1]!.blob, blobs[1]!.commitment, proof)).toBe(true);
    await server.close();
  });

  it("is checked block by block and blob by blob", async () => {
    const store = openRecording(folder);
    for (const entry of store.entries) await checkBlock(store, entry, false);
    expect(await checkBlobs(store, store.last, kzg)).toBe(2);
    const swapped = L1Store.inMemory(
      store.chain,
      store.entries.map((entry) => store.load(entry)),
      new Map(blobs.map(({ versionedHash }) => [bytesToHex(versionedHash), blobs[0]!.blob])),
    );
    await expect(checkBlobs(swapped, swapped.last, kzg)).rejects.toThrow("L1 block 102: blob");
  });
});

describe("recording an L1", () => {
  let into: string;
  beforeEach(() => {
    into = mkdtempSync(join(tmpdir(), "rnode-recording-"));
  });

  it("refuses a block whose receipts or transactions are not those of its roots, and leaves no recording", async () => {
    for (const method of ["eth_getBlockReceipts", "eth_getBlockByNumber"]) {
      const rpc = new FakeEndpoint([...blocks]);
      rpc.override = (asked, [id]) => {
        if (asked !== method || (id !== "0x65" && id !== blocks[1]!.hash)) return undefined;
        if (method === "eth_getBlockReceipts") return [...blocks[1]!.receiptsJson].reverse();
        const { transactions } = blocks[1]!.fullJson as { transactions: object[] };
        return { ...blocks[1]!.fullJson, transactions: [{ ...transactions[0], value: "0x9" }, transactions[1]] };
      };
      await expect(record(rpc, { folder: into })).rejects.toThrow("L1 block 101: an L1 endpoint answered wrongly");
      expect(() => openRecording(into)).toThrow("has no l1.json: it is no recording, or one that was interrupted");
    }
  });

  it("takes receipts one by one from an endpoint that has no others, and names a block that it does not have", async () => {
    const rpc = new FakeEndpoint([...blocks]);
    rpc.override = (method) => (method === "eth_getBlockReceipts" ? null : undefined);
    await record(rpc, { folder: into });
    expect((await readAll(openRecording(into))).read[1]?.receipts).toEqual(blocks[1]!.receipts);
    await expect(record(rpc, { folder: into, blocks: [103] })).rejects.toThrow("the L1 endpoint does not have block 103");
  });

  it("goes on where it was interrupted, and asks for nothing twice", async () => {
    await record(undefined, { folder: into, blocks: [100, 102] });
    beacon.takeAsked();
    const rpc = new FakeEndpoint([...blocks]);
    await record(rpc, { folder: into });
    expect(rpc.calls.filter((method) => method === "eth_getBlockByNumber")).toHaveLength(1);
    expect(beacon.takeAsked()).toEqual([]);
    expect(openRecording(into).entries.map(({ number }) => number)).toEqual([100, 101, 102]);
  });

  it("records the blobs of one receiver only, if told so", async () => {
    const files = () => blobs.map(({ versionedHash }) => existsSync(join(into, "blobs", `${bytesToHex(versionedHash)}.gz`)));
    await record(undefined, { folder: into, inbox: `0x${"12".repeat(20)}` });
    expect(files()).toEqual([false, false]);
    await record(undefined, { folder: into, inbox: bytesToHex(BLOB_RECEIVER) });
    expect(files()).toEqual([true, true]);
  });

  it("keeps recordings of different chains apart", async () => {
    await record(undefined, { folder: into, blocks: [100] });
    const rpc = new FakeEndpoint([...blocks]);
    rpc.override = (method) => (method === "eth_chainId" ? "0x1" : undefined);
    await expect(record(rpc, { folder: into })).rejects.toThrow("has blocks of chain 900, and the endpoint is of chain 1");
  });

  it("says which file is damaged", async () => {
    await record(undefined, { folder: into });
    const file = join(into, "blocks", "101.json.gz");
    const text = gunzipSync(readFileSync(file)).toString();
    writeFileSync(file, gzipSync(text.replace('"gasLimit":"0x1c9c380"', '"gasLimit":"0x1c9c381"')));
    expect(() => openRecording(into)).toThrow(/101\.json\.gz: block 101 says that its hash is .* but its header has/);
    writeFileSync(file, text.slice(0, 100));
    expect(() => openRecording(into)).toThrow("101.json.gz: incorrect header check");
  });
});

describe("npm run replay-l1", () => {
  const run = async (...args: string[]) => {
    const said: string[] = [];
    const print = { out: (line: string) => said.push(line), err: (line: string) => said.push(line), progress: () => {} };
    const code = await replayL1(args, print, AbortSignal.abort());
    return { code, said: said.join("\n") };
  };

  it("serves a folder, checks one, and says what is wrong with the options", async () => {
    expect(await run(folder, "--port=0")).toEqual({
      code: 0,
      said: expect.stringMatching(/^3 blocks of L1 chain 900, 100 to 102, at http:\/\/127\.0\.0\.1:\d+$/),
    });
    expect(await run(folder, "--check")).toEqual({
      code: 0,
      said: "3 blocks of L1 chain 900, 100 to 102: 2 blobs, all as their hashes say",
    });
    expect(await run(folder, "--head=99", "--port=0")).toEqual({
      code: 1,
      said: "replay-l1: block 99 is not recorded: 100 to 102 are",
    });
    expect(await run(folder, "--port=x")).toEqual({ code: 1, said: 'replay-l1: --port is "x", expected a number' });
    expect((await run()).code).toBe(1);
  });
});
