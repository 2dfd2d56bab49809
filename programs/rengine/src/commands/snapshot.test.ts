import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type FlakyServer, startFlakyServer } from "@rnode/download/testing";
import { type Hex, toQuantity } from "@rnode/primitives";
import { createRandomFraction } from "@rnode/primitives/testing";
import { openChainStore } from "@rnode/storage";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { databasePath } from "../setup/database.ts";
import { buildPackage, PROGRAM } from "../testing/built-package.ts";
import { generateBlocks, WRITER_GENESIS } from "../testing/generated-blocks.ts";
import { KillableClient } from "../testing/kill-process.ts";
import { RICH_ADDRESS, startTestClient, type TestClient } from "../testing/test-client.ts";
import { importState } from "./import-state.ts";
import { snapshot as command } from "./snapshot.ts";

const root = mkdtempSync(join(tmpdir(), "rengine-snapshot-"));
const genesis = join(root, "genesis.json");
const file = join(root, "state.snap");
/** more than the snapshot has */
const BLOCKS = 300;
const AT = 290;
const CHAIN = { alloc: WRITER_GENESIS.alloc };

async function run(...args: string[]): Promise<{ readonly code: number; readonly out: string; readonly err: string }> {
  const out: string[] = [];
  const err: string[] = [];
  const code = await command(args, {}, { out: (line) => out.push(line), err: (line) => err.push(line), progress: () => {} });
  return { code, out: out.join("\n"), err: err.join("\n") };
}

let source: TestClient;
let hashes: Hex[];
let made: Awaited<ReturnType<typeof run>>;
let server: FlakyServer | undefined;
beforeAll(async () => {
  const folder = mkdtempSync(join(tmpdir(), "rengine-snapshot-"));
  writeFileSync(genesis, JSON.stringify(WRITER_GENESIS));
  ({ hashes } = await generateBlocks(genesis, databasePath(join(folder, "data")), BLOCKS));
  source = await startTestClient([], folder, CHAIN);
  made = await create("--blocks=256", file);
});
afterEach(async () => {
  await server?.close();
  server = undefined;
});
afterAll(async () => {
  await source.remove();
});

const chain = `--chain=${genesis}`;
const create = (...args: string[]) => run("create", chain, `--datadir=${join(source.folder, "data")}`, `--block=${AT}`, ...args);

describe("rengine snapshot", () => {
  it("is restored by import-state, too", async () => {
    const datadir = join(root, "imported", "data");
    const out: string[] = [];
    const io = { out: (line: string) => out.push(line), err: () => {}, progress: () => {} };
    const args = [chain, `--datadir=${datadir}`, `--from=${file}`];
    await expect(importState(args, {}, io)).rejects.toThrow(/say which block the snapshot must be of: --block-hash/);
    expect(await importState([...args, `--block-hash=${hashes[AT]}`], {}, io)).toBe(0);
    expect(out.join()).toMatch(new RegExp(`^block ${AT} ${hashes[AT]} state 0x`));
  });

  it("is made of a running client, verified, and restored over a bad connection to a node that follows on, in both faces", {
    tags: "long",
  }, async () => {
    // all blocks have one L1 origin, so that a rollup node may need all of them
    expect((await create(join(root, "default.snap"))).out).toMatch(new RegExp(` blocks ${AT} l1Blocks 0 checksum`));
    expect((await run("verify", chain, join(root, "default.snap"))).err).not.toMatch(/rollup node/);
    expect(made.out).toMatch(new RegExp(`^block ${AT} ${hashes[AT]} state 0x.* blocks 256 l1Blocks 0 checksum 0x.* bytes \\d+$`));
    const verified = await run("verify", chain, `--block-hash=${hashes[AT]}`, file);
    // fewer than there are, and all of one L1 origin
    const tooFew =
      /^no rollup node can start on this snapshot: its blocks reach 0 L1 blocks back, of the \d+ that one reads .*: make it again without --blocks/;
    expect([made.err, verified.code, verified.err]).toEqual([expect.stringMatching(tooFew), 0, made.err]);
    expect(made.out.startsWith(verified.out)).toBe(true);

    server = await startFlakyServer(() => readFileSync(file), { breaksAfter: (request) => (request < 3 ? 20_000 : undefined) });
    for (const profile of ["R", "G"]) {
      const folder = join(root, `restored-${profile}`);
      const datadir = join(folder, "data");
      const from = profile === "R" ? server.url : file;
      const restored = await run("restore", chain, `--datadir=${datadir}`, `--from=${from}`, `--block-hash=${hashes[AT]}`);
      expect(restored.out).toBe(verified.out);
      if (profile === "R") expect(restored.err).toMatch(/trying again in 0.5 s/);
      expect(existsSync(join(datadir, "snapshot.partial"))).toBe(false);
      await followOn(folder, profile);
    }
  });

  it("is verified at a URL, over a bad connection, and leaves nothing behind", { tags: "long" }, async () => {
    const temporary = join(root, "temporary");
    mkdirSync(temporary);
    vi.stubEnv("TMPDIR", temporary);
    try {
      let bytes = readFileSync(file);
      server = await startFlakyServer(() => bytes, { breaksAfter: (request) => (request < 3 ? 20_000 : undefined) });
      const { url } = server;
      const [there, here] = [await run("verify", chain, url), await run("verify", chain, file)];
      expect([there.code, there.out]).toEqual([0, here.out]);
      expect(there.err).toMatch(/trying again in 0.5 s/);
      await expect(run("verify", chain, `--block-hash=${hashes[AT - 1]}`, url)).rejects.toThrow("the snapshot is of another block");
      bytes = Buffer.from(bytes);
      bytes[bytes.length >> 1]! ^= 1;
      await expect(run("verify", chain, url)).rejects.toThrow(/damaged/);
      expect(readdirSync(temporary)).toEqual([]);
    } finally {
      vi.unstubAllEnvs();
    }
  });

  it("goes on with what an interrupted verification had downloaded, also of one that was killed, and shares it with nobody who is at work", {
    tags: "long",
  }, async () => {
    const temporary = join(root, "interrupted");
    mkdirSync(temporary);
    vi.stubEnv("TMPDIR", temporary);
    try {
      const bytes = readFileSync(file);
      server = await startFlakyServer(() => bytes, {
        breaksAfter: (request) => (request === 0 ? bytes.length - 5 : undefined),
        answer: (request, response) => request === 1 && Boolean(response.writeHead(404).end()),
      });
      const { url, ranges } = server;
      const failed = await run("verify", chain, url).catch((error: Error) => error.message);
      expect(failed).toMatch(/cannot be downloaded: HTTP status 404/);
      const [kept] = readdirSync(temporary);
      const owner = join(temporary, kept!, "owner");
      writeFileSync(owner, String(process.ppid));
      const anew = await run("verify", chain, url);
      expect([anew.code, anew.err, ranges[2]]).toEqual([0, expect.not.stringContaining("went on"), undefined]);
      writeFileSync(owner, "999999999"); // as after a kill
      const wentOn = await run("verify", chain, url);
      expect([wentOn.out, wentOn.err]).toEqual([
        anew.out,
        expect.stringContaining("went on with what an earlier attempt had downloaded"),
      ]);
      expect(ranges[3]).toMatch(/^bytes=[1-9]\d+-$/);
      expect(readdirSync(temporary)).toEqual([]);
    } finally {
      vi.unstubAllEnvs();
    }
  });

  it.each([
    [
      "never ends",
      (bytes: Uint8Array) => Buffer.concat([bytes.subarray(0, bytes.length - 60), Buffer.alloc(3_000_000)]),
      undefined,
    ],
    ["never ends, and says no size", () => Buffer.alloc(3_000_000, "rnodesnp\0\0\0\x02"), {}],
    ["is larger than --max-size", () => Buffer.alloc(0), { "content-length": 2 ** 40 }],
  ] as const)("from a server whose file %s leaves nothing behind", async (_, made, headers) => {
    const bytes = made(readFileSync(file));
    server = await startFlakyServer(() => bytes, {
      answer(_request, response) {
        if (headers === undefined) return false;
        response.writeHead(200, headers).write(bytes.length > 0 ? bytes : "r");
        return true;
      },
    });
    const datadir = join(root, "hostile");
    const args = [chain, `--datadir=${datadir}`, `--from=${server.url}`, `--block-hash=${hashes[AT]}`];
    await expect(run("restore", ...args, "--max-size=1")).rejects.toThrow(/allowed are 1048576|damaged|no snapshot/);
    expect(existsSync(join(datadir, "snapshot.partial"))).toBe(false);
  });

  /** What a node does that was restored. */
  async function followOn(folder: string, profile: string): Promise<void> {
    const node = await startTestClient([`--profile=${profile}`], folder, CHAIN);
    try {
      const call = <T>(method: string, ...params: unknown[]): Promise<T> => node.rpc.call<T>(method, params);
      const id = { number: toQuantity(AT), hash: hashes[AT] };
      for (const tag of ["latest", "safe", "finalized"]) expect(await call("eth_getBlockByNumber", tag, false)).toMatchObject(id);
      const oldest = AT - 255;
      for (const number of [0, oldest, AT]) {
        const params = [toQuantity(number), true];
        const own = await call<Record<string, unknown>>("eth_getBlockByNumber", ...params);
        expect(own).toMatchObject({ number: toQuantity(number) });
        expect(own.hash).toBe(((await source.rpc.call("eth_getBlockByNumber", params)) as { hash: Hex }).hash);
      }
      const receipts = await call("eth_getBlockReceipts", toQuantity(oldest));
      if (profile === "R") expect(receipts).toEqual(await source.rpc.call("eth_getBlockReceipts", [toQuantity(oldest)]));
      await expect(call("eth_getBlockByNumber", toQuantity(oldest - 1), false)).rejects.toThrow(/pruned history/);
      await expect(call("eth_getBalance", RICH_ADDRESS, toQuantity(AT - 1))).rejects.toThrow(
        /pruned|missing trie node|not available/,
      );
      expect(await call("eth_capabilities")).toMatchObject({
        blocks: { oldestBlock: toQuantity(oldest) },
        receipts: { oldestBlock: toQuantity(oldest) },
        state: { oldestBlock: toQuantity(AT) },
      });
      for (let number = AT + 1; number <= BLOCKS; number++) {
        expect(await node.engine.call("engine_newPayloadV4", await payloadFrom(source, number))).toMatchObject({ status: "VALID" });
        await node.engine.call("engine_forkchoiceUpdatedV3", [
          { headBlockHash: hashes[number], safeBlockHash: hashes[AT], finalizedBlockHash: hashes[AT] },
          null,
        ]);
      }
      expect(await call("eth_getBlockByNumber", "latest", false)).toMatchObject({ hash: hashes[BLOCKS] });
      await node.buildBlock();
    } finally {
      await node.close();
    }
  }

  it("is not restored without a word on whom to trust, into a database that has a chain, or when it is another block's", async () => {
    const datadir = `--datadir=${join(root, "none")}`;
    const from = `--from=${file}`;
    await expect(run("restore", chain, datadir, from)).rejects.toThrow(/--block-hash .* or --output-root .*, or --trust-snapshot/);
    await expect(run("restore", chain, datadir, from, `--block-hash=${hashes[AT - 1]}`)).rejects.toThrow(
      `the snapshot is of another block: its block hash is ${hashes[AT]}, expected ${hashes[AT - 1]}`,
    );
    const trusted = await run("restore", chain, datadir, from, "--trust-snapshot");
    expect(trusted.err).toMatch(/nothing but the file itself says that 0x[0-9a-f]+ is block 290/);
    await expect(run("restore", chain, datadir, from, "--trust-snapshot")).rejects.toThrow(/has a chain already, up to block 290/);
    const both = await run("restore", chain, datadir, from, "--trust-snapshot", `--block-hash=${hashes[AT]}`);
    expect([both.code, both.err]).toEqual([1, expect.stringContaining("--trust-snapshot")]);
    await expect(run("restore", chain, datadir, "--from=/nowhere", "--trust-snapshot")).rejects.toThrow("no such file");
    await expect(run("create", chain, `--datadir=${join(source.folder, "data")}`, "--block=9999", join(root, "x"))).rejects.toThrow(
      /no snapshot can be made of block 9999: the head is block/,
    );
    expect(existsSync(join(root, "x.partial"))).toBe(false);
  });

  it.each([
    [0o022, 0o644, 0o077],
    [0o077, 0o600, 0o077],
    [0o027, 0o640, 0o027],
    [0o002, 0o664, 0o007],
  ])("with the mask %o has mode %o, and a database nothing of %o", { tags: "long" }, (mask, mode, hidden) => {
    buildPackage();
    const made = join(root, `mode-${mask}.snap`);
    const blocks = join(root, `mode-${mask}.rlp`);
    const datadir = join(root, `mode-${mask}`);
    const from = join(source.folder, "data");
    const runs = [
      ["snapshot", "create", chain, `--datadir=${from}`, `--block=${AT}`, made],
      ["export", `--datadir=${from}`, "--to=3", blocks],
      ["snapshot", "restore", chain, `--datadir=${datadir}`, `--from=${made}`, "--trust-snapshot"],
    ];
    for (const args of runs) {
      const command = `umask ${mask.toString(8)}; exec "$0" "$@"`;
      const { status, stderr } = spawnSync("sh", ["-c", command, process.execPath, PROGRAM, ...args], { encoding: "utf8" });
      expect([status, status === 0 ? "" : stderr]).toEqual([0, ""]);
    }
    for (const path of [made, blocks]) expect([path, statSync(path).mode & 0o777]).toEqual([path, mode]);
    const paths = readdirSync(datadir, { recursive: true, encoding: "utf8" }).map((name) => join(datadir, name));
    expect(paths.length).toBeGreaterThan(2);
    for (const path of [datadir, ...paths]) expect([path, statSync(path).mode & hidden]).toEqual([path, 0]);
  });

  it("is restored by the attempt after those that were killed, at whatever moment", { tags: "long" }, async () => {
    buildPackage();
    server = await startFlakyServer(() => readFileSync(file));
    const random = createRandomFraction(4);
    const args = [chain, `--datadir=${join(root, "killed")}`, `--from=${server.url}`, `--block-hash=${hashes[AT]}`];
    mkdirSync(join(root, "killed"));
    let wholeMs = 1500;
    for (let round = 0; round < 4; round++) {
      const startMs = performance.now();
      const child = new KillableClient(PROGRAM, ["snapshot", "restore", ...args]);
      if (!(await child.killAfter(wholeMs * (0.3 + 0.7 * random())))) wholeMs = performance.now() - startMs;
      const database = databasePath(join(root, "killed"));
      if (!existsSync(database)) continue;
      const store = openChainStore(database);
      const head = store.head();
      if (head !== undefined) expect([head.number, store.verifyState().problems]).toEqual([AT, []]);
      await store.close();
      if (head !== undefined) rmSync(join(root, "killed"), { recursive: true });
    }
    rmSync(join(root, "killed"), { recursive: true, force: true });
    expect((await run("restore", ...args)).code).toBe(0);
  });
});

/** Parameters of engine_newPayloadV4 for a block of a client. */
async function payloadFrom(client: TestClient, number: number): Promise<unknown[]> {
  const block = await client.rpc.call<Record<string, unknown>>("eth_getBlockByNumber", [toQuantity(number), false]);
  const [bodies] = await client.engine.call<{ transactions: Hex[] }[]>("engine_getPayloadBodiesByRangeV1", [
    toQuantity(number),
    "0x1",
  ]);
  const { hash, number: blockNumber, mixHash, miner, ...rest } = block;
  const payload = {
    ...rest,
    blockHash: hash,
    blockNumber,
    prevRandao: mixHash,
    feeRecipient: miner,
    transactions: bodies!.transactions,
    withdrawals: [],
  };
  return [payload, [], block.parentBeaconBlockRoot, []];
}
