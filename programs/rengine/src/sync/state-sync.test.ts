import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createRpcClient, type RpcClient } from "@rnode/jsonrpc";
import { createLogger, createMetrics } from "@rnode/observe";
import { bytesToHex, type Hex, hexToBytes, ZERO_HASH } from "@rnode/primitives";
import { createRandom } from "@rnode/primitives/testing";
import { freePort, SimClock, until } from "@rnode/program/testing";
import { openChainStore, type StateRow } from "@rnode/storage";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { loadChainSpec } from "../setup/chain-spec.ts";
import { databasePath, openDatabase } from "../setup/database.ts";
import { buildPackage, PROGRAM } from "../testing/built-package.ts";
import { generateBlocks, WRITER_GENESIS } from "../testing/generated-blocks.ts";
import { KillableClient, type ProcessLimits } from "../testing/kill-process.ts";
import { startTestClient, type TestClient } from "../testing/test-client.ts";
import { StateSync, type StateSyncDeps } from "./state-sync.ts";

const root = mkdtempSync(join(tmpdir(), "state-sync-"));
const genesis = join(root, "genesis.json");
const ON = ["--addr=127.0.0.1", "--port=0", "--nat=none", "--disable-discovery"];
const ZERO = bytesToHex(ZERO_HASH);
const COUNT = 140;
/** so far behind the last block that its pivot's state is not served any more */
const FIRST_HEAD = 20;

let peer: TestClient;
let hashes: Hex[];
let enode: string;
beforeAll(async () => {
  buildPackage();
  writeFileSync(genesis, JSON.stringify(WRITER_GENESIS));
  const folder = mkdtempSync(join(root, "peer"));
  ({ hashes } = await generateBlocks(genesis, databasePath(join(folder, "data")), COUNT));
  peer = await startTestClient([...ON, "--max-peers=5", "--http.api=admin,eth"], folder, { alloc: WRITER_GENESIS.alloc });
  enode = await until("it has joined the network", async () => {
    const info = await peer.rpc.call<{ enode: string; ports: { listener: number } }>("admin_nodeInfo");
    return info.ports.listener > 0 && info.enode;
  });
}, 240_000);
afterAll(() => peer.remove());

const processes: KillableClient[] = [];
afterEach(async () => {
  for (const client of processes.splice(0)) await client.killAfter(0);
});

interface New {
  readonly client: KillableClient;
  readonly engine: RpcClient;
}

/** A client in a process, without blocks. */
async function startNew(datadir: string, port: number, minBlocks: number, limits: ProcessLimits = {}): Promise<New> {
  const args = [
    ...[`--chain=${genesis}`, `--datadir=${datadir}`, `--authrpc.port=${port}`, `--trusted-peers=${enode}`, ...ON],
    `--snapsync.min-blocks=${minBlocks}`,
  ];
  const client = new KillableClient(PROGRAM, args, limits);
  processes.push(client);
  await client.enginePort();
  const jwtSecret = hexToBytes(readFileSync(join(datadir, "jwt.hex"), "utf8").trim());
  return { client, engine: createRpcClient({ url: `http://127.0.0.1:${port}`, jwtSecret, timeoutMs: 60_000 }) };
}

/** Names the head. @returns `undefined`: the client does not answer, because it starts again, or was killed */
async function choose(engine: RpcClient, number: number): Promise<string | undefined> {
  const state = { headBlockHash: hashes[number], safeBlockHash: ZERO, finalizedBlockHash: ZERO };
  try {
    const { payloadStatus } = await engine.call<{ payloadStatus: { status: string } }>("engine_forkchoiceUpdatedV3", [state, null]);
    return payloadStatus.status;
  } catch {
    return undefined;
  }
}

/** All rows of the head's state. */
function rowsOf(datadir: string): {
  readonly rows: readonly StateRow[];
  readonly problems: readonly string[];
  readonly oldest: number;
} {
  const store = openChainStore(databasePath(datadir), { readOnly: true });
  try {
    const rows = [...store.stateRows(store.head()!)];
    return { rows, problems: store.verifyState().problems, oldest: store.retainedHistory()!.oldestState };
  } finally {
    void store.close();
  }
}

describe("the state after a far head", () => {
  it("is taken from peers while the Engine API answers SYNCING, and the client goes on from it", async () => {
    const datadir = join(mkdtempSync(join(root, "new-")), "data");
    const port = await freePort();
    const { client, engine } = await startNew(datadir, port, FIRST_HEAD);
    expect(await choose(engine, FIRST_HEAD)).toBe("SYNCING");
    const seen = new Set<string | undefined>();
    await until("it has the state", async () => {
      const status = await choose(engine, COUNT);
      seen.add(status);
      return status === "VALID";
    });
    expect(seen).toContain("SYNCING");
    expect(seen).not.toContain("INVALID");
    expect(await engine.call("eth_blockNumber", [])).toBe(`0x${COUNT.toString(16)}`);
    expect(client.log).toMatch(/the state is complete/);
    expect(client.log).toMatch(/starting again/);
    await client.killAfter(0);
    const { rows, problems, oldest } = rowsOf(datadir);
    expect(problems).toEqual([]);
    expect(rows).toEqual(rowsOf(join(peer.folder, "data")).rows);
    expect(oldest).toBe(COUNT - 64); // it executed no block before
    for (const left of ["state.partial", "chaindata.partial", "chaindata.new"]) expect(existsSync(join(datadir, left))).toBe(false);
  });

  it("is not taken if the head is nearer, or there are blocks already", { tags: "long" }, async () => {
    const datadir = join(mkdtempSync(join(root, "near-")), "data");
    const { client, engine } = await startNew(datadir, await freePort(), COUNT - 10);
    await until("it has some blocks", async () => (await choose(engine, COUNT - 11)) === "VALID");
    await until("it has all blocks", async () => (await choose(engine, COUNT)) === "VALID");
    expect(client.log).not.toMatch(/state below a far head/);
    await client.killAfter(0);
    expect(rowsOf(datadir).oldest).toBeLessThan(COUNT - 11);
  });

  /** Waits until the client has the last block. @throws its state is not that of the peer */
  async function expectState(datadir: string, { client, engine }: New): Promise<void> {
    await until("it has the head", async () => (await choose(engine, COUNT)) === "VALID");
    await client.killAfter(0);
    await engine.close();
    const { rows, problems } = rowsOf(datadir);
    expect(problems).toEqual([]);
    expect(rows).toEqual(rowsOf(join(peer.folder, "data")).rows);
  }

  /** Kills clients at random times of state syncs, also while the rows of several pivots are healed. */
  async function killOften(kills: number): Promise<void> {
    const random = createRandom(kills);
    const port = await freePort();
    const newFolder = (): string => join(mkdtempSync(join(root, "killed-")), "data");
    let datadir = newFolder();
    let longestMs = 1_000;
    for (let left = kills; left > 0; ) {
      const { client, engine } = await startNew(datadir, port, 0);
      if ((await client.logged(/chain opened.* head=(\d+)/)) !== "0") {
        await expectState(datadir, { client, engine });
        datadir = newFolder();
        continue;
      }
      void choose(engine, COUNT - random(60));
      await client.logged(/(the state below a far head)/);
      const startMs = performance.now();
      const hasEnded = await Promise.race([
        client.logged(/(the state is complete)/).then(() => true),
        new Promise<false>((resolve) => setTimeout(() => resolve(false), random(longestMs))),
      ]);
      if (hasEnded) longestMs = performance.now() - startMs;
      await client.killAfter(hasEnded ? random(50) : 0);
      await engine.close();
      processes.splice(0);
      left--;
    }
    await expectState(datadir, await startNew(datadir, port, 0));
  }

  it("is taken after kill -9", { timeout: 240_000 }, () => killOften(1));

  it("is taken after kill -9 at a hundred times", { tags: "long", timeout: 1_800_000 }, () => killOften(100));

  it("is taken once a full disk has room", { tags: "long", timeout: 600_000 }, async () => {
    const datadir = join(mkdtempSync(join(root, "full-")), "data");
    const port = await freePort();
    const said = new Set<string>();
    for (let kibibytes = 128; kibibytes < 2_048; kibibytes *= 1.3) {
      const { client, engine } = await startNew(datadir, port, 0, { maxFileBytes: kibibytes * 1_024 });
      void choose(engine, COUNT - Math.floor(kibibytes % 60));
      const outcome = await Promise.race([
        client.logged(/(the state sync failed, trying again after a pause.*cannot grow)/),
        client.logged(/(the state is complete)/),
      ]);
      said.add(outcome === undefined ? "ended" : outcome.slice(0, 21));
      if (outcome?.startsWith("the state sync failed")) expect(client.hasEnded).toBe(false);
      if (!client.hasEnded) await client.killAfter(0);
      await engine.close();
      processes.splice(0);
      if (outcome?.startsWith("the state is complete")) break;
    }
    expect(said).toContain("the state sync failed");
    await expectState(datadir, await startNew(datadir, port, 0));
  });
});

describe("a state sync that fails", () => {
  /** In simulated time, with peers that do not exist, and a head that is far ahead. @returns what was logged */
  async function failing(
    datadir: string,
  ): Promise<{ readonly said: readonly string[]; readonly tookMs: number; readonly metrics: string }> {
    const metrics = createMetrics({ prefix: "", ofProcess: false });
    const clock = new SimClock();
    const startMs = clock.monotonicMs();
    const spec = await loadChainSpec({ chain: genesis });
    const hash = new Uint8Array(32);
    const said: string[] = [];
    const sync = new StateSync(100, {
      chain: {
        config: spec.config,
        genesis: { hash, block: { header: { number: 0 } } },
        head: () => ({ number: 0, hash: bytesToHex(hash) }),
      } as unknown as StateSyncDeps["chain"],
      spec,
      peers: { list: () => [], onChange: () => () => {} },
      datadir,
      store: {},
      metrics,
      clock,
      log: createLogger({ level: "warn", format: "logfmt", destination: { write: (line: string) => said.push(line) } }),
      onReady: () => said.push("ready"),
    });
    const target = { number: 10_000, hash: hash.with(0, 1) };
    expect(sync.takes({ ...target, number: 99 }, true)).toBe(false);
    expect(sync.takes(target, false)).toBe(true);
    expect(sync.takes(target, true)).toBe(true);
    await until("it has ended", async () => {
      await clock.advance(10_000);
      return !sync.takes(target, true) || said.includes("ready");
    });
    await sync.close();
    return { said, tookMs: clock.monotonicMs() - startMs, metrics: (await metrics.expose()).body };
  }

  it("is repeated, and given up after a bounded time without progress: all blocks are synced instead", async () => {
    const { said, tookMs, metrics } = await failing(mkdtempSync(join(root, "none-")));
    expect(said).toEqual([
      expect.stringMatching(/trying again after a pause.*no peer is connected.*pauseMs=10000/),
      expect.stringMatching(/trying again after a pause.*no peer is connected.*pauseMs=20000/),
      expect.stringMatching(/cannot be had from peers: all blocks are synced instead.*no peer is connected/),
    ]);
    expect(tookMs).toBeLessThan(300_000);
    expect(metrics).toMatch(/^snapsync_failures_total 3$/m);
  });

  it("does not end the client if the file system refuses the last step", async () => {
    const datadir = mkdtempSync(join(root, "refused-"));
    await generateBlocks(genesis, join(datadir, "chaindata.partial"), 2);
    const inTheWay = join(datadir, "chaindata.new");
    mkdirSync(join(inTheWay, "a"), { recursive: true });
    const { said } = await failing(datadir);
    expect(said.length).toBe(3);
    for (const line of said) expect(line).toMatch(/the state sync cannot use .*refused-.*ENOTEMPTY/);
    rmSync(inTheWay, { recursive: true });
    expect((await failing(datadir)).said).toEqual(["ready"]);
    expect(readdirSync(datadir)).toEqual(["chaindata.new"]);
  });

  it("leaves the database that is there in its place until another one is complete", async () => {
    const datadir = mkdtempSync(join(root, "swap-"));
    const open = async (): Promise<Uint8Array | undefined> => {
      const store = openDatabase(datadir);
      const value = store.readMeta("which");
      await store.close();
      return value;
    };
    for (const [folder, which] of [
      ["chaindata", 1],
      ["chaindata.partial", 2],
    ] as const) {
      const store = openChainStore(join(datadir, folder));
      store.writeMeta("which", Uint8Array.of(which));
      await store.close();
    }
    expect(await open()).toEqual(Uint8Array.of(1));
    renameSync(join(datadir, "chaindata.partial"), join(datadir, "chaindata.new"));
    expect(await open()).toEqual(Uint8Array.of(2));
    renameSync(join(datadir, "chaindata"), join(datadir, "chaindata.new")); // a kill came between the two steps
    expect(await open()).toEqual(Uint8Array.of(2));
  });
});
