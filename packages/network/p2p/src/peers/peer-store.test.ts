import { existsSync, mkdtempSync, readdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createLogger, silentLogger } from "@rnode/observe";
import { parseSubnet } from "@rnode/peering";
import { MemoryDatastore } from "datastore-core";
import { LevelDatastore } from "datastore-level";
import { type Datastore, Key } from "interface-datastore";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openPeerDatastore, type PeerDatastore } from "./peer-datastore.ts";
import { MAX_BLOCKED, PeerRecords } from "./peer-records.ts";
import { NO_SCORES } from "./record-json.ts";

const PEER = "16Uiu2HAmKVVub7edwZ3RKDnqMpZVsusYW9TKRgbwpH54nvDWLE4x";
const OTHER = "16Uiu2HAm9Z9nKLLsFJe5jwv4UyaZmzRyPj3AFe1ZTyNzApf4hMkw";
const EPOCHS_100_SEC = 1200;

const newRecords = (log = silentLogger) => new PeerRecords({ scoreRetentionSec: EPOCHS_100_SEC, log });

const text = async (store: Datastore, key: string): Promise<string> => new TextDecoder().decode(await store.get(new Key(key)));

async function keysOf(store: Datastore): Promise<string[]> {
  const keys: string[] = [];
  for await (const key of store.queryKeys({})) keys.push(key.toString());
  return keys.sort();
}

function fill(records: PeerRecords): void {
  records.setScores(PEER, { ...NO_SCORES, gossip: { ...NO_SCORES.gossip, total: -1.5 } }, 1000);
  records.metadata.set(PEER, { lastUpdate: 1000, peerMetadata: { enr: "enr:-x", opStackID: 10 } });
  records.bans.set(PEER, { expiry: 4600, lastUpdate: 1000, reason: "score -112 is below -100" });
  records.ipBans.set("192.0.2.9", { expiry: 4600, lastUpdate: 1000, reason: "" });
  records.blockedPeers.set(OTHER, OTHER);
  records.blockedAddrs.set("192.0.2.1", "192.0.2.1");
  records.blockedAddrs.set("2001:db8::1", "2001:db8::1");
  records.blockedSubnets.set("10.0.0.0/8", parseSubnet("10.0.0.0/8")!);
  records.protectedPeers.set(OTHER, { lastUpdate: 1000 });
}

describe("records of peers", () => {
  it("are stored under the keys and in the JSON of op-node", async () => {
    const store = new MemoryDatastore();
    const records = newRecords();
    await records.load(store);
    fill(records);
    await records.written();
    const p = (await keysOf(store)).find((key) => key.startsWith("/peers/scores/"))!.slice("/peers/scores/".length);
    expect(p).toMatch(/^[A-Z2-7]{63}$/);
    expect(JSON.parse(await text(store, `/peers/scores/${p}`))).toEqual({
      lastUpdate: 1000,
      peerScores: {
        gossip: {
          total: -1.5,
          blocks: { timeInMesh: 0, firstMessageDeliveries: 0, meshMessageDeliveries: 0, invalidMessageDeliveries: 0 },
          IPColocationFactor: 0,
          behavioralPenalty: 0,
        },
        reqResp: { validResponses: 0, errorResponses: 0, rejectedPayloads: 0 },
      },
    });
    expect(JSON.parse(await text(store, `/peers/md/${p}`))).toEqual({
      lastUpdate: 1000,
      peerMetadata: { enr: "enr:-x", opStackID: 10 },
    });
    expect(JSON.parse(await text(store, `/peers/ban_expiration/${p}`))).toMatchObject({ expiry: 4600, lastUpdate: 1000 });
    expect(JSON.parse(await text(store, "/ips/ban_expiration/192.0.2.9"))).toMatchObject({ expiry: 4600, lastUpdate: 1000 });
    expect(await text(store, "/libp2p/net/conngater/subnet/10.0.0.0/8")).toBe("10.0.0.0/8");
  });

  it("are the same after a restart", async () => {
    const store = new MemoryDatastore();
    const before = newRecords();
    await before.load(store);
    fill(before);
    await before.written();
    const after = newRecords();
    await after.load(store);
    for (const table of [
      "scores",
      "metadata",
      "bans",
      "ipBans",
      "blockedPeers",
      "blockedAddrs",
      "blockedSubnets",
      "protectedPeers",
    ] as const)
      expect([...after[table].entries()], table).toEqual([...before[table].entries()]);
    after.blockedAddrs.delete("192.0.2.1");
    await after.written();
    const third = newRecords();
    await third.load(store);
    expect(third.blockedAddrs.keys()).toEqual(["2001:db8::1"]);
  });

  it("reads bans without a reason, as op-node writes them, and deletes what it cannot read", async () => {
    const store = new MemoryDatastore();
    const json = (value: unknown) => new TextEncoder().encode(JSON.stringify(value));
    await store.put(new Key("/ips/ban_expiration/192.0.2.9"), json({ expiry: 5, lastUpdate: 1 }));
    await store.put(new Key("/ips/ban_expiration/nowhere"), json({ expiry: 5, lastUpdate: 1 }));
    await store.put(new Key("/ips/ban_expiration/192.0.2.8"), json({ expiry: "late" }));
    await store.put(new Key("/peers/scores/NOPEER"), json({ lastUpdate: 1 }));
    const lines: string[] = [];
    const log = createLogger({ level: "warn", format: "logfmt", destination: { write: (line) => lines.push(line) } });
    const records = newRecords(log);
    await records.load(store);
    await records.written();
    expect(records.ipBans.get("192.0.2.9")).toEqual({ expiry: 5, lastUpdate: 1, reason: "" });
    expect(lines.join("")).toMatch(/records=3/);
    expect(await keysOf(store)).toEqual(["/ips/ban_expiration/192.0.2.9"]);
  });

  it("are kept for 100 epochs (scores) or 7 days (metadata and bans that have ended)", async () => {
    const records = newRecords();
    await records.load(new MemoryDatastore());
    fill(records);
    records.collectGarbage(1000 + EPOCHS_100_SEC);
    expect(records.scores.size).toBe(1);
    records.collectGarbage(1001 + EPOCHS_100_SEC);
    expect([records.scores.size, records.metadata.size]).toEqual([0, 1]);
    const week = 7 * 24 * 3600;
    records.collectGarbage(1000 + week);
    expect([records.metadata.size, records.bans.size, records.ipBans.size]).toEqual([1, 1, 1]);
    records.collectGarbage(1001 + week);
    expect([records.metadata.size, records.bans.size, records.ipBans.size]).toEqual([0, 0, 0]);
    expect([records.blockedPeers.size, records.blockedSubnets.size, records.protectedPeers.size]).toEqual([1, 1, 1]);
  });

  it("are bounded: the one that was written longest ago goes, from the store too", async () => {
    const store = new MemoryDatastore();
    const records = newRecords();
    await records.load(store);
    for (let i = 0; i <= MAX_BLOCKED; i++)
      records.blockedAddrs.set(`10.${i >> 16}.${(i >> 8) & 255}.${i & 255}`, `10.${i >> 16}.${(i >> 8) & 255}.${i & 255}`);
    await records.written();
    expect(records.blockedAddrs.size).toBe(MAX_BLOCKED);
    expect(records.blockedAddrs.has("10.0.0.0")).toBe(false);
    expect(await keysOf(store)).toHaveLength(MAX_BLOCKED);
  });

  it("goes on in memory, with one warning, when the store takes nothing any more", async () => {
    const lines: string[] = [];
    const log = createLogger({ level: "warn", format: "logfmt", destination: { write: (line) => lines.push(line) } });
    const store = new MemoryDatastore();
    const records = newRecords(log);
    await records.load(store);
    store.batch = () => ({ put: () => {}, delete: () => {}, commit: () => Promise.reject(new Error("disk full")) });
    records.blockedPeers.set(PEER, PEER);
    await records.written();
    records.blockedPeers.set(OTHER, OTHER);
    await records.written();
    expect(records.blockedPeers.size).toBe(2);
    expect(lines).toHaveLength(1);
  });
});

describe("the store of peers on disk", () => {
  let folder: string;
  const open: PeerDatastore[] = [];
  const lines: string[] = [];
  const log = createLogger({ level: "warn", format: "logfmt", destination: { write: (line) => lines.push(line) } });
  const openAt = async (path: string | undefined) => {
    const records = newRecords(log);
    const { store } = await openPeerDatastore(path, log, (found) => records.load(found));
    open.push(store);
    return { records, store };
  };
  const close = async () => {
    await Promise.all(open.splice(0).map((store) => store.close()));
  };
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "rnode-peers-"));
    lines.length = 0;
  });
  afterEach(async () => {
    await close();
  });

  it("keeps records and what libp2p keeps, apart from each other", async () => {
    const path = join(folder, "a", "peers");
    const first = await openAt(path);
    fill(first.records);
    await first.store.libp2p.put(new Key("/peers/somebody"), new Uint8Array([1]));
    await first.records.written();
    await close();
    const second = await openAt(path);
    expect(second.records.bans.get(PEER)?.reason).toBe("score -112 is below -100");
    expect(second.records.protectedPeers.has(OTHER)).toBe(true);
    expect([...(await second.store.libp2p.get(new Key("/peers/somebody")))]).toEqual([1]);
    expect(await keysOf(second.store.libp2p)).toEqual(["/peers/somebody"]);
    expect(lines).toEqual([]);
  });

  it("is set aside with a warning when it is damaged, and an empty one takes its place", async () => {
    const path = join(folder, "peers");
    const first = await openAt(path);
    fill(first.records);
    await first.records.written();
    await close();
    for (const file of readdirSync(path).filter((name) => name.startsWith("MANIFEST")))
      writeFileSync(join(path, file), "no manifest");
    const second = await openAt(path);
    expect(second.records.bans.size).toBe(0);
    expect(existsSync(`${path}.damaged`)).toBe(true);
    expect(lines.join("")).toContain("set aside");
    second.records.blockedPeers.set(PEER, PEER);
    await second.records.written();
    await close();
    expect((await openAt(path)).records.blockedPeers.has(PEER)).toBe(true);
  });

  it("is kept in memory, with a warning, where there is no folder to be had", async () => {
    writeFileSync(join(folder, "file"), "");
    const { records } = await openAt(join(folder, "file", "peers"));
    records.blockedPeers.set(PEER, PEER);
    await records.written();
    expect(lines.join("")).toContain("in memory only");
  });

  it("is refused when another node has it open", async () => {
    const path = join(folder, "peers");
    const other = new LevelDatastore(path);
    await other.open();
    await expect(openAt(path)).rejects.toMatchObject({ code: "peer-store/in-use", data: { path } });
    await other.close();
    expect(existsSync(`${path}.damaged`)).toBe(false);
  });
});
