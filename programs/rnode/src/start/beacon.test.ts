import { type TestBlob, testBlob } from "@rnode/kzg/testing";
import { createBeaconMetrics } from "@rnode/l1";
import { FakeBeacon, type FakeBeaconOptions } from "@rnode/l1/testing";
import { noMetrics, silentLogger } from "@rnode/observe";
import type { Hex } from "@rnode/primitives";
import { parseOptions } from "@rnode/program";
import { encodeBlob } from "@rnode/protocol";
import { describe, expect, it, onTestFinished } from "vitest";
import { rnodeOptions } from "../options.ts";
import { testConfig } from "../testing/fake-chain.ts";
import { type Beacon, connectBeacon } from "./beacon.ts";

const SLOT = 50;
const BLOCK = { hash: `0x${"b1".repeat(32)}` as Hex, number: 7, parentHash: `0x${"b0".repeat(32)}` as Hex, timestamp: 1_600 };
const BLOBS = [1, 2].map((seed) => testBlob(encodeBlob(new Uint8Array(100).fill(seed)))) as [TestBlob, TestBlob];
const SECOND = [{ index: 1, versionedHash: BLOBS[1].versionedHash }];

const CALLDATA_CHAIN = testConfig("granite", { forkTimes: { regolith: 0, canyon: 0, delta: 0 } });

async function node(options: FakeBeaconOptions = {}): Promise<FakeBeacon> {
  const beacon = await FakeBeacon.start({ genesisTimeSec: 1_000, ...options });
  onTestFinished(() => beacon.close());
  beacon.add(SLOT, BLOBS);
  return beacon;
}

function connect(args: readonly string[], config = testConfig()) {
  const parsed = parseOptions(rnodeOptions, ["--l2=http://localhost:1", ...args], {});
  if (parsed.kind !== "options") throw new Error(JSON.stringify(parsed));
  const pausesMs: number[] = [];
  const clock = { unixMs: () => 2_000_000, monotonicMs: () => 2_000_000, sleep: async (ms: number) => void pausesMs.push(ms) };
  const beacon: Beacon = connectBeacon(parsed.options.l1, {
    config,
    clock,
    log: silentLogger,
    metrics: createBeaconMetrics(noMetrics),
  });
  onTestFinished(() => beacon.close());
  return { beacon, pausesMs, check: () => beacon.check(new AbortController().signal) };
}

const isSecond = (blobs: readonly Uint8Array[] | undefined): boolean => Buffer.compare(blobs![0]!, BLOBS[1].blob) === 0;

describe("the beacon node of a chain that reads blobs", () => {
  it("is required, unless the start goes on without it", async () => {
    expect(() => connect([])).toThrow(/^expected L1 Beacon API endpoint, but got none: give a beacon node with --l1.beacon;/);
    const { beacon, check } = connect(["--l1.beacon.ignore"]);
    await check();
    await expect(beacon.blobs.blobs(BLOCK, SECOND)).rejects.toThrow(
      /^the blobs of L1 block 7 are not available: .*give one with --l1.beacon/,
    );
  });

  it("is not asked for where no fork reads blobs", async () => {
    const main = await node();
    await connect([], CALLDATA_CHAIN).check();
    await connect([`--l1.beacon=${main.url}`], CALLDATA_CHAIN).check();
    expect(main.asked).toEqual([]);
  });

  it("passes the check with its version and its L1", async () => {
    const main = await node();
    const { check, pausesMs } = connect([`--l1.beacon=${main.url}`]);
    await check();
    expect(main.asked).toEqual(["/eth/v1/config/spec", "/eth/v2/node/version", "/eth/v1/node/version"]);
    expect(pausesMs).toEqual([]);
  });

  it("is asked five times, and its failure stops the start unless that goes on without it", async () => {
    const main = await node();
    main.instead = (path) => (path.endsWith("spec") ? { status: 500, json: { message: "syncing" } } : undefined);
    const { check, pausesMs } = connect([`--l1.beacon=${main.url}`]);
    await expect(check()).rejects.toThrow(
      new RegExp(
        `^--l1.beacon ${main.url} gives no usable answer, gave up after 5 attempts: status 500 syncing; --l1.beacon.ignore`,
      ),
    );
    expect(main.asked).toHaveLength(5);
    expect(pausesMs).toEqual([500, 1_000, 2_000, 4_000]);
    await connect([`--l1.beacon=${main.url}`, "--l1.beacon.ignore"]).check();
  });

  it.each([401, 403, 404, 405, 410, 429, 500])("need not say its version: %i", async (status) => {
    const main = await node();
    main.instead = (path) => (path.endsWith("version") ? { status, json: { message: "restricted" } } : undefined);
    const { check, pausesMs } = connect([`--l1.beacon=${main.url}`]);
    await check();
    expect(pausesMs).toEqual([]);
  });

  it("must answer, also where it is not asked for the length of slots", async () => {
    const main = await node();
    main.instead = () => ({ status: 500, json: {} });
    await expect(connect([`--l1.beacon=${main.url}`, "--l1.beacon.slot-duration-override=2"]).check()).rejects.toThrow(
      /gives no usable answer/,
    );
  });

  it("must belong to the rollup's L1", async () => {
    const { check } = connect([`--l1.beacon=${(await node({ l1ChainId: 1 })).url}`]);
    await expect(check()).rejects.toThrow(
      /is a beacon node of chain 1, but the rollup's L1 is chain 900: give a beacon node of that chain$/,
    );
  });

  it("may be an execution client's port by mistake, which is told in one line", async () => {
    const main = await node();
    main.instead = () => ({ text: '{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid Request"}}' });
    await expect(connect([`--l1.beacon=${main.url}`]).check()).rejects.toThrow(/^--l1.beacon http.* gives no usable answer/);
  });
});

describe("options of the beacon node", () => {
  it("--l1.beacon-fallbacks are asked where the main one has no blobs, with --l1.beacon-header", async () => {
    const [main, first, second] = [await node(), await node(), await node()];
    for (const empty of [main, first]) empty.forget(SLOT);
    const { beacon } = connect([
      `--l1.beacon=${main.url}`,
      `--l1.beacon-fallbacks=${first.url},${second.url}`,
      "--l1.beacon-header=X-Key: secret",
    ]);
    expect(isSecond(await beacon.blobs.blobs(BLOCK, SECOND))).toBe(true);
    for (const each of [main, first, second]) expect(each.headers).toContain("secret");
  });

  it("--l1.beacon.fetch-all-sidecars asks for all of a block", async () => {
    const main = await node();
    const { beacon } = connect([`--l1.beacon=${main.url}`, "--l1.beacon.fetch-all-sidecars"]);
    expect(isSecond(await beacon.blobs.blobs(BLOCK, SECOND))).toBe(true);
    expect(main.takeAsked()).toEqual([`/eth/v1/beacon/blob_sidecars/${SLOT}`]);
  });

  it("--l1.beacon.slot-duration-override counts slots of that length", async () => {
    const main = await node();
    main.add(300, BLOBS);
    const { beacon, check } = connect([`--l1.beacon=${main.url}`, "--l1.beacon.slot-duration-override=2"]);
    await check();
    expect(isSecond(await beacon.blobs.blobs(BLOCK, SECOND))).toBe(true);
    expect(main.takeAsked()).toEqual([expect.stringContaining("/300?")]);
  });
});
