import { type Lie, liesAbout } from "@rnode/jsonrpc/testing";
import { createKzg, type Kzg } from "@rnode/kzg";
import { testBlob } from "@rnode/kzg/testing";
import { noMetrics } from "@rnode/observe";
import { bytesToHex, type Hex, isCodedError, keccak256 } from "@rnode/primitives";
import { encodeBlob } from "@rnode/protocol";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { FakeBeacon, type FakeBeaconOptions } from "../testing/fake-beacon.ts";
import { FakeClock } from "../testing/fake-endpoint.ts";
import { BeaconClient } from "./beacon-client.ts";
import { createBeaconMetrics } from "./beacon-metrics.ts";

const SLOT = 50;
const BLOCK = { hash: `0x${"b1".repeat(32)}` as Hex, number: 7, parentHash: `0x${"b0".repeat(32)}` as Hex, timestamp: 1_600 };
const [FOREIGN, OURS] = [1, 2].map((seed) => testBlob(encodeBlob(new Uint8Array(100).fill(seed)))) as [
  ReturnType<typeof testBlob>,
  ReturnType<typeof testBlob>,
];
const WANTED = [{ index: 1, versionedHash: OURS.versionedHash }];

/** Real answers, each computed once: most lies leave the blobs as they are. */
function remembering(kzg: Kzg): Kzg {
  const answers = new Map<string, Promise<unknown>>();
  const once = <T>(name: string, parts: readonly Uint8Array[], ask: () => Promise<T>): Promise<T> => {
    const key = [name, ...parts.map((part) => bytesToHex(keccak256(part)))].join(" ");
    const answer = (answers.get(key) as Promise<T> | undefined) ?? ask();
    answers.set(key, answer);
    return answer;
  };
  return {
    ...kzg,
    commitment: (blob) => once("commitment", [blob], () => kzg.commitment(blob)),
    verifyBlobProof: (...parts) => once("verify", parts, () => kzg.verifyBlobProof(...parts)),
  };
}

const kzg = remembering(createKzg());
afterAll(() => kzg.close());

type Outcome = "the truth" | "no answer" | "not there" | "a wrong answer" | "never well again";

describe.each<[string, FakeBeaconOptions, string[]]>([
  ["sidecars", { apis: ["blob_sidecars"] }, ["long"]],
  ["blobs", { apis: ["blobs"], fuluEpoch: 1 }, []],
])("BeaconClient and a node that lies: %s", (_, options, tags) => {
  let beacon: FakeBeacon;
  const exchanges = new Map<string, unknown>();

  const clientOf = (): BeaconClient => {
    const log = { warn: () => {}, debug: () => {} };
    const deps = { kzg, clock: new FakeClock(), log, metrics: createBeaconMetrics(noMetrics) };
    return new BeaconClient({ urls: [beacon.url], fetchesAll: false }, deps);
  };
  const isTruth = (blobs: readonly Uint8Array[] | undefined): boolean =>
    blobs?.length === 1 && Buffer.compare(blobs[0]!, OURS.blob) === 0;

  beforeAll(async () => {
    beacon = await FakeBeacon.start({ genesisTimeSec: 1_000, ...options });
    beacon.add(SLOT, [FOREIGN, OURS]);
    beacon.instead = (path, { status, json }) => {
      if (status === 200) exchanges.set(path, json);
      return undefined;
    };
    const client = clientOf();
    expect(isTruth(await client.blobs(BLOCK, WANTED))).toBe(true);
    await client.close();
  });
  afterAll(() => beacon.close());

  async function outcomeOf(path: string, { answer }: Lie): Promise<Outcome> {
    const client = clientOf();
    beacon.instead = (asked, { status }) => (asked === path ? { status, json: answer } : undefined);
    let outcome: Outcome;
    try {
      const blobs = await client.blobs(BLOCK, WANTED);
      outcome = blobs === undefined ? "not there" : isTruth(blobs) ? "the truth" : "a wrong answer";
    } catch (error) {
      if (!isCodedError(error, "l1/")) throw error;
      outcome = "no answer";
    }
    beacon.instead = () => undefined;
    const afterwards = await client.blobs(BLOCK, WANTED).catch(() => undefined);
    await client.close();
    return outcome === "a wrong answer" || isTruth(afterwards) ? outcome : "never well again";
  }

  it("never believes it, and finds the truth afterwards", { tags }, async () => {
    const outcomes: Record<Outcome, string[]> = {
      "the truth": [],
      "no answer": [],
      "not there": [],
      "a wrong answer": [],
      "never well again": [],
    };
    expect([...exchanges.keys()].sort()).toEqual([
      expect.stringContaining("beacon/blob"),
      "/eth/v1/beacon/genesis",
      "/eth/v1/config/spec",
    ]);
    for (const [path, answer] of exchanges) {
      for (const lie of liesAbout(answer)) outcomes[await outcomeOf(path, lie)].push(`${path} ${lie.name}`);
    }
    expect(outcomes["a wrong answer"]).toEqual([]);
    expect(outcomes["never well again"]).toEqual([]);
    expect(outcomes["no answer"].length + outcomes["not there"].length).toBeGreaterThan(50);
  });
});
