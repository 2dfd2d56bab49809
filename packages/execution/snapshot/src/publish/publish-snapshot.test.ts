import { createHash, generateKeyPairSync, type KeyObject } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { DevChain } from "@rnode/chain/testing";
import { bytesToHex } from "@rnode/primitives";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { loadSnapshot } from "../read/load-snapshot.ts";
import { startLoopbackS3 } from "../testing/loopback-s3.ts";
import { CONFIG, openSnapshotChain, produceChanges, snapshotOf } from "../testing/snapshot-chain.ts";
import { type Publication, type Published, publishSnapshot } from "./publish-snapshot.ts";
import { PublishedSnapshots } from "./published-snapshots.ts";
import { openS3Store } from "./s3-store.ts";
import { decodeIndex, type IndexEntry, publicKeyOf } from "./snapshot-index.ts";
import type { SnapshotStore } from "./snapshot-store.ts";
import { openSnapshotStore, s3PlaceOf } from "./store-place.ts";

const key = generateKeyPairSync("ed25519").privateKey;
const other = generateKeyPairSync("ed25519").privateKey;
const root = mkdtempSync(join(tmpdir(), "rnode-publish-"));
let count = 0;
let dev: DevChain;
beforeAll(() => {
  dev = openSnapshotChain();
  for (let number = 1; number <= 6; number++) produceChanges(dev);
});
afterAll(() => dev.remove());

function publish(store: SnapshotStore, blockNumber: number, options: Partial<Publication> = {}): Promise<Published> {
  const request = { config: CONFIG, genesisHash: dev.chain.genesis.hash, blockNumber, blocks: 256, frameBytes: 2048 };
  return publishSnapshot(dev.store, store, { request, key, keep: 2, nowUnixMs: 0, ...options });
}
const indexOf = async (store: SnapshotStore, trusted: KeyObject | undefined = key): Promise<readonly IndexEntry[]> =>
  decodeIndex((await store.read("index.json"))!, "here", trusted && publicKeyOf(trusted)).snapshots;

interface Place {
  readonly store: SnapshotStore;
  readonly names: () => string[];
  /** partly written files */
  readonly rests: () => number;
}

const PLACES: readonly [string, () => Promise<Place>][] = [
  [
    "folder",
    async () => {
      const folder = join(root, `store-${count++}`, "snapshots");
      const store = await openSnapshotStore(folder, {});
      const names = (): string[] => readdirSync(folder).filter((name) => !name.endsWith(".partial"));
      return { store, names, rests: () => readdirSync(folder).length - names().length };
    },
  ],
  [
    "bucket",
    async () => {
      const s3 = await startLoopbackS3("the-bucket");
      onTestFinished(() => s3.close());
      s3.objects.set("of-others/1-2-aaaaaaaa.snap", Buffer.from("x"));
      const store = await openSnapshotStore("s3://the-bucket/op/snapshots/", s3.env);
      const start = "op/snapshots/";
      const names = (): string[] =>
        [...s3.objects.keys()].filter((each) => each.startsWith(start)).map((each) => each.slice(start.length));
      return { store, names, rests: () => s3.uploads.size };
    },
  ],
];

describe.each(PLACES)("snapshots in a %s", (_, open) => {
  it("are named by a signed index, with what identifies each file", async () => {
    const { store, names, rests } = await open();
    const published = await publish(store, 3);
    if (published.kind !== "made") throw new Error(published.kind);
    const { entry, made } = published;
    const bytes = (await store.read(entry.name))!;
    expect(Buffer.from(bytes).equals((await snapshotOf(dev, { blockNumber: 3 })).bytes)).toBe(true);
    expect(await indexOf(store)).toEqual([entry]);
    expect(entry).toEqual({
      name: `${CONFIG.chainId}-3-${made.block.hash.slice(2, 10)}.snap`,
      bytes: bytes.length,
      sha256: bytesToHex(createHash("sha256").update(bytes).digest()),
      number: 3,
      hash: made.block.hash,
      stateRoot: bytesToHex(made.stateRoot),
      created: "1970-01-01T00:00:00.000Z",
    });
    expect([names().sort(), rests()]).toEqual([[entry.name, "index.json"].sort(), 0]);
    const file = join(root, "read");
    writeFileSync(file, bytes);
    const loaded = await loadSnapshot(file, { config: CONFIG });
    loaded.close();
  });

  it("leave the index when there are enough newer ones, and the store one snapshot later", async () => {
    const { store, names } = await open();
    const made: string[] = [];
    for (const number of [1, 2, 3, 4]) {
      const published = await publish(store, number);
      made.push(published.entry.name);
      expect((await indexOf(store)).map((entry) => entry.number)).toEqual(number === 1 ? [1] : [number, number - 1]);
      expect(published.kind === "made" && published.removed).toEqual(number === 4 ? [made[0]] : []);
    }
    expect(names().sort()).toEqual([...made.slice(1), "index.json"].sort());
    expect(await publish(store, 4)).toMatchObject({ kind: "present", entry: { number: 4 } });
    expect((await publish(store, 2, { keep: undefined })).kind).toBe("made");
    expect((await indexOf(store)).map((entry) => entry.number)).toEqual([4, 3, 2]);
  });

  it("that a killed run had not named are removed with the next one", async () => {
    const { store, names } = await open();
    const orphan = `${CONFIG.chainId}-9-0123abcd.snap`;
    await store.write(orphan, Buffer.from("x"));
    await store.write("notes.txt", Buffer.from("x"));
    expect(await publish(store, 1)).toMatchObject({ removed: [orphan] });
    expect(names()).toContain("notes.txt");
  });

  it("leave nothing when they are given up", async () => {
    const { store, names, rests } = await open();
    const ended = new AbortController();
    ended.abort(new Error("enough"));
    await expect(publish(store, 1, { signal: ended.signal })).rejects.toThrow("enough");
    await expect(publish(store, 99)).rejects.toThrow(/no snapshot can be made of block 99: the head is block 6/);
    expect([names(), rests()]).toEqual([[], 0]);
  });

  it("are not added to an index of another signer, or of another chain", async () => {
    const { store } = await open();
    await publish(store, 1);
    await expect(publish(store, 2, { key: other })).rejects.toThrow(/signed with the key/);
    await expect(publish(store, 2, { key: undefined })).rejects.toThrow(/no key was given to sign the next one/);
    const request = { config: { ...CONFIG, chainId: 5n }, genesisHash: dev.chain.genesis.hash, blockNumber: 2 };
    await expect(publish(store, 2, { request })).rejects.toThrow(/give each chain a place of its own/);
    expect(await indexOf(store)).toHaveLength(1);
  });
});

describe("a bucket", () => {
  it("is asked again while it is busy, and named when it refuses", async () => {
    const s3 = await startLoopbackS3("the-bucket");
    onTestFinished(() => s3.close());
    const store = openS3Store(s3PlaceOf("s3://the-bucket", s3.env), 1);
    s3.failures = 4;
    expect((await publish(store, 1)).kind).toBe("made");
    expect([...s3.objects.keys()]).toContain("index.json");
    s3.failures = 6;
    await expect(publish(store, 2)).rejects.toThrow(/^s3:\/\/the-bucket\/ does not take a request: /);
    const wrong = openS3Store(s3PlaceOf("s3://the-bucket", { ...s3.env, AWS_SECRET_ACCESS_KEY: "another" }), 1);
    await expect(publish(wrong, 2)).rejects.toThrow(/s3:\/\/the-bucket\/ does not take a request: .*(403|SignatureDoesNotMatch)/);
  });

  it("is read by addresses that are signed", async () => {
    const s3 = await startLoopbackS3("the-bucket");
    onTestFinished(() => s3.close());
    const { entry } = await publish(await openSnapshotStore("s3://the-bucket/a b", s3.env), 1);
    const expected = { chainId: CONFIG.chainId, genesisHash: dev.chain.genesis.hash, publicKey: publicKeyOf(key) };
    const published = await PublishedSnapshots.read("s3://the-bucket/a b", expected, { env: s3.env });
    expect(published.snapshots).toEqual([entry]);
    const response = await fetch(await published.urlOf(entry));
    expect([response.status, (await response.arrayBuffer()).byteLength]).toEqual([200, entry.bytes]);
    const otherChain = { ...expected, chainId: 5n };
    await expect(PublishedSnapshots.read("s3://the-bucket/a b", otherChain, { env: s3.env })).rejects.toThrow(
      /of another chain: its chain id/,
    );
  });

  const CREDENTIALS = { AWS_ACCESS_KEY_ID: "id", AWS_SECRET_ACCESS_KEY: "secret" };
  it.each<[string, Record<string, string>, object | RegExp]>([
    [
      "s3://name/a/b/",
      CREDENTIALS,
      { bucket: "name", prefix: "a/b", region: "us-east-1", endpoint: "https://s3.us-east-1.amazonaws.com" },
    ],
    ["s3://name", { ...CREDENTIALS, AWS_REGION: "eu-west-1", AWS_ENDPOINT_URL: "http://a/" }, { prefix: "", endpoint: "http://a" }],
    ["s3://name", { ...CREDENTIALS, AWS_ENDPOINT_URL: "http://a", AWS_ENDPOINT_URL_S3: "http://b" }, { endpoint: "http://b" }],
    ["s3://Name/x", CREDENTIALS, /expected s3:\/\/bucket\/prefix/],
    ["s3://name", { AWS_ACCESS_KEY_ID: "id" }, /has no AWS_SECRET_ACCESS_KEY/],
    ["s3://name", { ...CREDENTIALS, AWS_SESSION_TOKEN: "x" }, /temporary credentials .* are not supported/],
    ["s3://name", { ...CREDENTIALS, AWS_ENDPOINT_URL: "minio:9000" }, /AWS_ENDPOINT_URL is minio:9000, expected a URL/],
  ])("is named by %s and the environment", (place, env, expected) => {
    if (expected instanceof RegExp) expect(() => s3PlaceOf(place, env)).toThrow(expected);
    else expect(s3PlaceOf(place, env)).toMatchObject(expected);
  });
});

it("a folder's files appear whole", async () => {
  const folder = join(root, "whole");
  const store = await openSnapshotStore(folder, {});
  const upload = await store.create("1-1-00000000.snap");
  await upload.write(Buffer.from("half"));
  expect(readdirSync(folder)).toEqual(["1-1-00000000.snap.partial"]);
  await upload.finish();
  expect(readFileSync(join(folder, "1-1-00000000.snap"), "utf8")).toBe("half");
  await store.create("1-2-00000000.snap");
  await openSnapshotStore(folder, {});
  expect(readdirSync(folder)).toEqual(["1-1-00000000.snap"]);
});
