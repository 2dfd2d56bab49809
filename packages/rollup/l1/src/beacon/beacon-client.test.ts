import { createKzg } from "@rnode/kzg";
import { type TestBlob, testBlob } from "@rnode/kzg/testing";
import { createMetrics, type Metrics } from "@rnode/observe";
import { bytesToHex, type Hex } from "@rnode/primitives";
import { encodeBlob } from "@rnode/protocol";
import { afterAll, afterEach, beforeEach, describe, expect, it } from "vitest";
import { FakeBeacon, type FakeBeaconOptions } from "../testing/fake-beacon.ts";
import { FakeClock } from "../testing/fake-endpoint.ts";
import { BeaconClient, type BeaconClientOptions } from "./beacon-client.ts";
import { createBeaconMetrics } from "./beacon-metrics.ts";

const GENESIS_TIME = 1_000;
const SLOT = 50;
const BLOCK = { hash: `0x${"b1".repeat(32)}` as Hex, number: 7, parentHash: `0x${"b0".repeat(32)}` as Hex, timestamp: 1_600 };
const kzg = createKzg();
const BLOBS = [1, 2, 3].map((seed) => testBlob(encodeBlob(new Uint8Array(100).fill(seed))));
const [A, B, C] = BLOBS as [TestBlob, TestBlob, TestBlob];
const NAMES = new Map(BLOBS.map(({ blob }, index) => [Buffer.from(blob).toString("latin1"), "ABC"[index]!]));
/** Which blobs these are, in order: comparing them as arrays would take seconds. */
const named = (blobs: readonly Uint8Array[] | undefined): string | undefined =>
  blobs?.map((blob) => NAMES.get(Buffer.from(blob).toString("latin1")) ?? "?").join("");
const idOf = (blob: TestBlob) => ({ index: BLOBS.indexOf(blob), versionedHash: blob.versionedHash });

const beacons: FakeBeacon[] = [];
const clients: BeaconClient[] = [];
let clock: FakeClock;
let warnings: { text: string; fields: Record<string, unknown> }[];
let metrics: Metrics;

async function beacon(options: FakeBeaconOptions = {}, blobs: readonly TestBlob[] = BLOBS): Promise<FakeBeacon> {
  const started = await FakeBeacon.start({ genesisTimeSec: GENESIS_TIME, ...options });
  started.add(SLOT, blobs);
  beacons.push(started);
  return started;
}

function clientOf(of: readonly FakeBeacon[], options: Partial<BeaconClientOptions> = {}): BeaconClient {
  const urls = of.map(({ url }) => url) as [string, ...string[]];
  const warn = (text: string, fields: Record<string, unknown> = {}): void => void warnings.push({ text, fields });
  metrics = createMetrics({ prefix: "" });
  const deps = { kzg, clock, log: { warn, debug: () => {} }, metrics: createBeaconMetrics(metrics) };
  const client = new BeaconClient({ urls, fetchesAll: false, timeoutMs: 5_000, ...options }, deps);
  clients.push(client);
  return client;
}

const metric = async (line: RegExp): Promise<string | undefined> =>
  (await metrics.expose()).body
    .split("\n")
    .find((each) => line.test(each))
    ?.split(" ")
    .at(-1);

beforeEach(() => {
  clock = new FakeClock();
  clock.now = 2_000_000;
  warnings = [];
});
afterEach(async () => {
  for (const client of clients.splice(0)) await client.close();
  for (const each of beacons.splice(0)) await each.close();
});
afterAll(() => kzg.close());

describe("BeaconClient", () => {
  it("asks for sidecars by index before Fulu, one request a block, in the order of the ids", async () => {
    const node = await beacon();
    const client = clientOf([node]);
    expect(named(await client.blobs(BLOCK, [idOf(C), idOf(A)]))).toBe("CA");
    expect(node.takeAsked()).toEqual([`/eth/v1/beacon/blob_sidecars/${SLOT}?indices=2&indices=0`]);
    expect(await metric(/^l1_blob_requests_per_block_bucket\{le="1"\}/)).toBe("1");
  });

  it("asks for blobs by versioned hash since Fulu, one request a block", async () => {
    const node = await beacon({ fuluEpoch: 1 });
    const client = clientOf([node]);
    expect(named(await client.blobs(BLOCK, [idOf(C), idOf(A)]))).toBe("CA");
    const [hashC, hashA] = [C, A].map(({ versionedHash }) => bytesToHex(versionedHash));
    expect(node.takeAsked()).toEqual([`/eth/v1/beacon/blobs/${SLOT}?versioned_hashes=${hashC}&versioned_hashes=${hashA}`]);
  });

  it.each(["blobs", "blob_sidecars"] as const)("falls back to %s where there is nothing else, and remembers that", async (api) => {
    const node = await beacon({ apis: [api], ...(api === "blob_sidecars" ? { fuluEpoch: 1 } : {}) });
    const client = clientOf([node]);
    expect(named(await client.blobs(BLOCK, [idOf(B)]))).toBe("B");
    expect(node.takeAsked()).toHaveLength(2);
    const next = { ...BLOCK, hash: `0x${"b2".repeat(32)}` as Hex };
    expect(named(await client.blobs(next, [idOf(A)]))).toBe("A");
    expect(node.takeAsked()).toEqual([expect.stringContaining(`/${api}/${SLOT}?`)]);
  });

  it("asks for everything where selecting loses blobs, and from then on at once", async () => {
    const node = await beacon({ apis: ["blobs"] });
    // as some nodes do: of a repeated query name only the last counts
    node.instead = (_, { json }) => {
      const last = node.asked.at(-1)!;
      if (!last.includes("versioned_hashes")) return undefined;
      return { status: 200, json: { data: (json as { data: unknown[] }).data.slice(-1) } };
    };
    const client = clientOf([node]);
    expect(named(await client.blobs(BLOCK, [idOf(A), idOf(C)]))).toBe("AC");
    node.takeAsked();
    node.add(SLOT + 1, BLOBS);
    const next = { ...BLOCK, hash: `0x${"b2".repeat(32)}` as Hex, timestamp: BLOCK.timestamp + 12 };
    expect(named(await client.blobs(next, [idOf(B)]))).toBe("B");
    expect(node.takeAsked()).toEqual([`/eth/v1/beacon/blobs/${SLOT + 1}`]);
  });

  it.each(["blobs", "blob_sidecars"] as const)("takes %s of a node that ignores the query by their place", async (api) => {
    const node = await beacon({ apis: [api], fuluEpoch: 1 });
    node.selects = false;
    expect(named(await clientOf([node]).blobs(BLOCK, [idOf(B)]))).toBe("B");
    expect(warnings).toEqual([]);
  });

  it("selects nothing with fetchesAll", async () => {
    const node = await beacon();
    expect(named(await clientOf([node], { fetchesAll: true }).blobs(BLOCK, [idOf(B)]))).toBe("B");
    expect(node.takeAsked()).toEqual([`/eth/v1/beacon/blob_sidecars/${SLOT}`]);
  });

  it("gives a blob that a block has twice for both places", async () => {
    const node = await beacon({ fuluEpoch: 1 }, [A, B, A]);
    const ids = [0, 1, 2].map((index) => ({ index, versionedHash: [A, B, A][index]!.versionedHash }));
    expect(named(await clientOf([node]).blobs(BLOCK, ids))).toBe("ABA");
    expect(named(await clientOf([node]).blobs(BLOCK, [ids[2]!]))).toBe("A");
  });

  it("computes the commitment where the proof is missing or wrong: the blob decides", async () => {
    for (const proof of [{}, { kzg_proof: `0xc0${"00".repeat(47)}` }]) {
      const node = await beacon({ apis: ["blob_sidecars"] });
      node.instead = (path, { status, json }) => {
        if (!path.includes("blob_sidecars")) return undefined;
        const { data } = json as { data: Record<string, unknown>[] };
        return { status, json: { data: data.map((sidecar) => ({ ...sidecar, kzg_proof: undefined, ...proof })) } };
      };
      expect(named(await clientOf([node]).blobs(BLOCK, [idOf(A)]))).toBe("A");
    }
  });

  it("keeps verified blobs, and forgets the oldest beyond its bytes", async () => {
    const node = await beacon();
    const client = clientOf([node], { cacheBytes: 2 * 131_072 });
    await client.blobs(BLOCK, [idOf(A), idOf(B)]);
    node.takeAsked();
    await client.blobs(BLOCK, [idOf(B), idOf(A)]);
    expect(node.takeAsked()).toEqual([]);
    await client.blobs(BLOCK, [idOf(C)]);
    await client.blobs(BLOCK, [idOf(B)]);
    expect(node.takeAsked()).toHaveLength(2);
  });

  it("waits for what was read ahead instead of asking twice", async () => {
    const node = await beacon();
    const client = clientOf([node]);
    client.readAhead(BLOCK, [idOf(A), idOf(B)]);
    client.readAhead(BLOCK, [idOf(A)]);
    expect(named(await client.blobs(BLOCK, [idOf(B)]))).toBe("B");
    expect(node.takeAsked()).toHaveLength(1);
  });

  it("sends the header to all endpoints", async () => {
    const [main, archiver] = [await beacon({}, []), await beacon()];
    await clientOf([main, archiver], { headers: { "x-key": "secret" } }).blobs(BLOCK, [idOf(A)]);
    expect(new Set([...main.headers, ...archiver.headers])).toEqual(new Set(["secret"]));
  });

  it("says version and L1 of the main endpoint", async () => {
    const client = clientOf([await beacon({ l1ChainId: 11155111 })]);
    expect(await client.version()).toBe("Fake/v1.0.0");
    expect(await client.l1ChainId()).toBe(11155111n);
    expect(await clientOf([await beacon({ hasVersionV2: true })]).version()).toBe("Fake/v2.0.0");
    const [silent] = [await beacon()];
    for (const json of [{}, { data: {} }, { data: { version: 1 } }, { data: { beacon_node: { name: "x" } } }, 1]) {
      silent.instead = (path) => (path.endsWith("version") ? { status: 200, json } : undefined);
      expect(await clientOf([silent]).version()).toBeUndefined();
    }
  });
});

describe("BeaconClient and Gloas", () => {
  const REFUSALS = [400, 401, 403, 404, 405, 406, 410, 415, 418, 422, 429, 451];
  it.each(REFUSALS)("asks the others when one endpoint answers %i", async (status) => {
    const [main, other] = [await beacon({ fuluEpoch: 0 }), await beacon({ fuluEpoch: 0 })];
    main.instead = (path) => (path.includes("/blob") ? { status, json: { code: status, message: "no" } } : undefined);
    expect(named(await clientOf([main, other]).blobs(BLOCK, [idOf(A), idOf(C)]))).toBe("AC");
    expect(other.takeAsked()).toHaveLength(1);
  });

  it("finds a blob that is not at its place, because a transaction of an unknown type before it has some", async () => {
    const node = await beacon({ fuluEpoch: 0, apis: ["blobs"] });
    node.selects = false;
    const client = clientOf([node]);
    expect(named(await client.blobs(BLOCK, [{ index: 0, versionedHash: B.versionedHash }]))).toBe("B");
    expect(warnings).toEqual([]);
    const unknown = new Uint8Array(32).fill(1);
    expect(await client.blobs(BLOCK, [{ index: 0, versionedHash: unknown }]).catch(() => "failed")).toBe("failed");
  });

  it.each([
    [{ SLOT_DURATION_MS: "12000" }, 50],
    [{ SLOT_DURATION_MS: "6000" }, 100],
    [{ SECONDS_PER_SLOT: "12", SLOT_DURATION_MS: "12000" }, 50],
    [{ SECONDS_PER_SLOT: "6" }, 100],
  ])("counts slots by %j", async (data, slot) => {
    const node = await beacon();
    node.add(slot, BLOBS);
    node.instead = (path) => (path.endsWith("spec") ? { status: 200, json: { data } } : undefined);
    await clientOf([node]).blobs(BLOCK, [idOf(A)]);
    expect(node.takeAsked()[0]).toContain(`/${slot}?`);
  });
});

describe("BeaconClient's slots", () => {
  it.each([
    ["first second of a slot", 1_600, 50],
    ["last second of a slot", 1_611, 50],
    ["genesis", 1_000, 0],
  ])("%s", async (_, timestamp, slot) => {
    const node = await beacon();
    node.add(slot, BLOBS);
    const client = clientOf([node]);
    await client.blobs({ ...BLOCK, timestamp }, [idOf(A)]);
    await client.blobs({ ...BLOCK, timestamp }, [idOf(B)]);
    expect(node.asked.filter((path) => path.includes("genesis") || path.includes("spec"))).toHaveLength(2);
    expect(node.takeAsked()[0]).toContain(`blob_sidecars/${slot}?`);
  });

  it("takes the length that it is given, and does not ask for the configuration", async () => {
    const node = await beacon();
    node.add(300, BLOBS);
    await clientOf([node], { slotSec: 2 }).blobs(BLOCK, [idOf(A)]);
    expect(node.asked.some((path) => path.includes("spec"))).toBe(false);
    expect(node.takeAsked()[0]).toContain("/300?");
  });

  it("refuses a block from before the genesis, and says which option is wrong", async () => {
    const client = clientOf([await beacon()]);
    await expect(client.blobs({ ...BLOCK, timestamp: 999 }, [idOf(A)])).rejects.toThrow(
      /^L1 does not give the slot: .*older than the beacon chain's genesis \(1000\): --l1.beacon is of another chain than --l1/,
    );
  });

  it("asks again for a genesis that cannot be", async () => {
    const node = await beacon();
    node.instead = (path) =>
      path.endsWith("genesis") ? { status: 200, json: { data: { genesis_time: "9999999999" } } } : undefined;
    const client = clientOf([node]);
    await expect(client.blobs(BLOCK, [idOf(A)])).rejects.toThrow(expect.objectContaining({ code: "l1/unavailable" }));
    node.instead = () => undefined;
    expect(named(await client.blobs(BLOCK, [idOf(A)]))).toBe("A");
  });

  it("go on as they are where nobody says them anew, and come from the next endpoint where the main one is down", async () => {
    const [main, other] = [await beacon(), await beacon()];
    const client = clientOf([main, other]);
    for (const each of [main, other]) each.forget(SLOT);
    expect(await client.blobs(BLOCK, [idOf(A)])).toBeUndefined();
    other.add(SLOT, BLOBS);
    main.instead = () => "drop";
    other.instead = (path) => (path.includes("/blob") ? undefined : { status: 404, json: {} });
    expect(named(await client.blobs(BLOCK, [idOf(A)]))).toBe("A");
    other.instead = () => undefined;
    expect(named(await clientOf([main, other]).blobs(BLOCK, [idOf(B)]))).toBe("B");
  });

  it("asks again for genesis and slot length after blobs were not found there", async () => {
    const node = await beacon();
    node.instead = (path) => (path.endsWith("genesis") ? { status: 200, json: { data: { genesis_time: "400" } } } : undefined);
    const client = clientOf([node]);
    expect(await client.blobs(BLOCK, [idOf(A)])).toBeUndefined();
    node.instead = () => undefined;
    expect(named(await client.blobs(BLOCK, [idOf(A)]))).toBe("A");
  });
});

describe("BeaconClient with several endpoints", () => {
  it("asks the next one only for what is missing, and stays with it", async () => {
    const [main, archiver] = [await beacon({}, [A]), await beacon()];
    const client = clientOf([main, archiver]);
    expect(named(await client.blobs(BLOCK, [idOf(A), idOf(B)]))).toBe("AB");
    expect(archiver.takeAsked()).toEqual([`/eth/v1/beacon/blob_sidecars/${SLOT}?indices=1`]);
    main.takeAsked();
    expect(named(await client.blobs(BLOCK, [idOf(C)]))).toBe("C");
    expect([main.takeAsked(), archiver.takeAsked()]).toEqual([[], [expect.any(String)]]);
  });

  it("returns to the first when the next one fails", async () => {
    const [main, archiver] = [await beacon(), await beacon()];
    const client = clientOf([main, archiver]);
    main.instead = (path) => (path.includes("/blob") ? { status: 503, json: {} } : undefined);
    expect(named(await client.blobs(BLOCK, [idOf(A)]))).toBe("A");
    main.instead = () => undefined;
    archiver.instead = () => "drop";
    expect(named(await client.blobs(BLOCK, [idOf(B)]))).toBe("B");
  });

  it.each<[string, Parameters<typeof Object.assign>[1]]>([
    ["refuses", { instead: () => ({ status: 500, json: { message: "internal error" } }) }],
    ["forbids", { instead: () => ({ status: 401, json: {} }) }],
    ["drops connections", { instead: () => "drop" }],
    ["never answers", { instead: () => "hang" }],
    ["talks of something else", { instead: () => ({ text: "<html>" }) }],
    ["answers without end", { instead: () => ({ text: `"${"x".repeat(2_000_000)}"` }) }],
  ])("goes on without one that %s", async (_, fault) => {
    const [main, other] = [await beacon(), await beacon()];
    const client = clientOf([main, other], { timeoutMs: 400, maxAnswerBytes: 1_000_000 });
    await client.blobs(BLOCK, [idOf(C)]); // genesis and slot length are known
    Object.assign(main, fault);
    expect(named(await client.blobs(BLOCK, [idOf(A)]))).toBe("A");
  });

  it("counts a blob that is not the one, names who gave it, and asks the next", async () => {
    const [liar, honest] = [await beacon({ fuluEpoch: 1 }), await beacon({ fuluEpoch: 1 })];
    liar.instead = (path, { status }) => (path.includes("/blob") ? { status, json: { data: [bytesToHex(B.blob)] } } : undefined);
    expect(named(await clientOf([liar, honest]).blobs(BLOCK, [idOf(A)]))).toBe("A");
    expect(warnings).toEqual([
      {
        text: "beacon endpoint gave a faulty answer",
        fields: expect.objectContaining({ endpoint: liar.url, l1Block: 7, slot: SLOT, reason: expect.stringContaining("hash") }),
      },
    ]);
    expect(await metric(/^l1_beacon_faulty_answers_total\{/)).toBe("1");
  });
});

describe("BeaconClient without a blob", () => {
  const refusal = (status: number, message: string) => (path: string) =>
    path.includes("/blob") ? { status, json: { code: status, message } } : undefined;

  it("says that it is not there when an endpoint says so, and asks again the next time", async () => {
    const [node, failing] = [await beacon(), await beacon()];
    failing.instead = refusal(500, "broken");
    const client = clientOf([node, failing]);
    node.forget(SLOT);
    expect(await client.blobs(BLOCK, [idOf(A)])).toBeUndefined();
    node.add(SLOT, BLOBS);
    expect(named(await client.blobs(BLOCK, [idOf(A)]))).toBe("A");
  });

  it("fails for now when no endpoint says anything of use", async () => {
    const node = await beacon();
    node.instead = refusal(500, "broken");
    const client = clientOf([node]);
    await expect(client.blobs(BLOCK, [idOf(A)])).rejects.toThrow(/^L1 does not give the blobs .*500 broken/);
    node.instead = () => undefined;
    expect(named(await client.blobs(BLOCK, [idOf(A)]))).toBe("A");
  });

  const HASH = bytesToHex(A.versionedHash);
  it.each<[string, (node: FakeBeacon) => void, number, RegExp]>([
    [
      "expired",
      (node) => node.forget(SLOT),
      30,
      /^the block is 30 days old, and beacon nodes keep blobs for 18 days: add a blob archiver to --l1.beacon-fallbacks$/,
    ],
    [
      "uncustodied",
      (node) => {
        node.instead = refusal(404, "the node does not custody enough data columns to reconstruct blobs");
      },
      1,
      /--supernode.*--subscribe-all-data-subnets.*or add a blob archiver/,
    ],
    [
      "withheld",
      (node) => node.add(SLOT, [B, C]),
      1,
      /^the node may not have had the block in time, or L1 may have replaced it: .*archiver/,
    ],
  ])("names slot, hash, endpoint and what helps: %s", async (_, prepare, days, help) => {
    const node = await beacon();
    prepare(node);
    clock.now = (BLOCK.timestamp + days * 86_400) * 1_000;
    expect(await clientOf([node]).blobs(BLOCK, [idOf(A), idOf(B)])).toBeUndefined();
    const { text, fields } = warnings.at(-1)!;
    expect(text).toBe("blobs of the batcher cannot be read");
    expect(fields).toMatchObject({ l1Block: 7, slot: SLOT, versionedHash: HASH, help: expect.stringMatching(help) });
    expect(fields.endpoints).toContain(`${node.url} (blob_sidecars: `);
  });
});
