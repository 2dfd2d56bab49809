import { spawnSync } from "node:child_process";
import {
  closeSync,
  copyFileSync,
  mkdtempSync,
  openSync,
  readFileSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createRpcClient } from "@rnode/jsonrpc";
import { bytesToHex, type Hex, hexToBytes, keccak256 } from "@rnode/primitives";
import { openChainStore } from "@rnode/storage";
import { beforeAll, describe, expect, it } from "vitest";
import { databasePath } from "../setup/database.ts";
import { buildPackage, PROGRAM } from "../testing/built-package.ts";
import { EngineDriver } from "../testing/engine-driver.ts";
import { generateBlocks, WRITER_GENESIS } from "../testing/generated-blocks.ts";
import { KillableClient, limitedCommand } from "../testing/kill-process.ts";

/*
 * Runs the program on a full disk, on damaged files and next to another process. Errors must say what happened and where, and the
 * program must work again afterwards.
 */

/** Only for hangs: a loaded machine takes many times as long as an idle one. */
const TIMEOUT_MS = 300_000;
const BLOCKS = 160;

let folder: string;
let hashes: Hex[];
const at = (...names: string[]): string => join(folder, ...names);
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "rengine-full-"));
  writeFileSync(at("genesis.json"), JSON.stringify(WRITER_GENESIS));
  buildPackage();
  const generated = await generateBlocks(at("genesis.json"), at("maker"), BLOCKS);
  hashes = generated.hashes;
  writeFileSync(at("chain.rlp"), generated.rlp);
}, TIMEOUT_MS);

interface Ended {
  readonly status: number | null;
  readonly signal: string | null;
  readonly out: string;
  /** the last line of standard error */
  readonly error: string;
}

function rengine(args: readonly string[], maxFileBytes?: number): Ended {
  const command = [process.execPath, PROGRAM, ...args];
  const [file = "", ...rest] = limitedCommand(command, { maxFileBytes });
  const { status, signal, stdout, stderr } = spawnSync(file, rest, { encoding: "utf8", timeout: TIMEOUT_MS });
  return { status, signal, out: stdout.trim(), error: stderr.trim().split("\n").at(-1)! };
}

const importInto = (datadir: string, maxFileBytes?: number) =>
  rengine(["import", `--chain=${at("genesis.json")}`, `--datadir=${datadir}`, "--batch=8", at("chain.rlp")], maxFileBytes);

const diskFull = (command: string, datadir: string): RegExp =>
  new RegExp(`^rengine ${command}: the database in ${databasePath(datadir)} cannot grow: .*: make room and try again$`);

describe("a full disk", () => {
  it("ends an import with what to do; what was stored stays, and the import goes on from there", {
    tags: "long",
    timeout: TIMEOUT_MS,
  }, async () => {
    const datadir = at("import");
    const ended = importInto(datadir, 2_500_000);
    expect(ended).toMatchObject({ status: 1, out: "" });
    expect(ended.error).toMatch(diskFull("import", datadir));
    // Started again, it reports the same error each time, and damages nothing.
    expect(importInto(datadir, 2_500_000)).toEqual(ended);
    const store = openChainStore(databasePath(datadir));
    const { number, hash } = store.head()!;
    expect(number).toBeGreaterThan(0);
    expect(hash).toBe(hashes[number]);
    expect(store.verifyState().problems).toEqual([]);
    await store.close();
    expect(importInto(datadir)).toMatchObject({ status: 0, out: `head ${BLOCKS} ${hashes.at(-1)}` });
  });

  it("ends init, which begins anew when there is room", { tags: "long", timeout: TIMEOUT_MS }, () => {
    const alloc = Object.fromEntries(
      Array.from({ length: 120_000 }, (_, i) => [
        bytesToHex(keccak256(Uint8Array.of(i >> 16, i >> 8, i)).subarray(12)),
        { balance: `0x${(i + 1).toString(16)}` },
      ]),
    );
    writeFileSync(at("large.json"), JSON.stringify({ ...WRITER_GENESIS, alloc }));
    const init = (datadir: string, maxFileBytes?: number) =>
      rengine(["init", `--chain=${at("large.json")}`, `--datadir=${datadir}`], maxFileBytes);
    const whole = init(at("whole"));
    expect(whole).toMatchObject({ status: 0, error: "" });
    const ended = init(at("init"), 6_000_000);
    expect(ended).toMatchObject({ status: 1, out: "" });
    expect(ended.error).toMatch(diskFull("init", at("init")));
    // The incomplete genesis is not mistaken for a chain.
    expect(rengine(["db", "verify", `--datadir=${at("init")}`])).toMatchObject({
      status: 1,
      error: `rengine db: ${at("init")}: the database is empty`,
    });
    expect(init(at("init"))).toEqual({
      ...whole,
      error: "writing the genesis had been interrupted: what was there of it is removed, and it is written from the beginning",
    });
    expect(rengine(["db", "verify", `--datadir=${at("init")}`])).toMatchObject({ status: 0 });
  });

  it("is an error of the call that would write, and the client goes on when there is room", {
    tags: "long",
    timeout: TIMEOUT_MS,
  }, async () => {
    const datadir = at("client");
    const args = [`--chain=${at("genesis.json")}`, `--datadir=${datadir}`, "--authrpc.port=0", "--max-peers=0"];
    const connect = async (client: KillableClient) => {
      const port = await client.enginePort();
      const jwtSecret = hexToBytes(readFileSync(join(datadir, "jwt.hex"), "utf8").trim());
      return createRpcClient({ url: `http://127.0.0.1:${port}`, jwtSecret });
    };
    const full = new KillableClient(PROGRAM, args, { maxFileBytes: 1_000_000 });
    const engine = await connect(full);
    const head = () => engine.call<{ hash: Hex; number: Hex }>("eth_getBlockByNumber", ["latest", false]);
    const driver = new EngineDriver(engine, { chain: [(await head()).hash], safe: undefined, finalized: undefined }, 1);
    const buildUntilFull = async (): Promise<void> => {
      for (let i = 0; i < 2000; i++) await driver.buildBlock();
    };
    for (let i = 0; i < 3; i++) await expect(buildUntilFull()).rejects.toThrow("cannot grow");
    expect(driver.acknowledged.chain.length).toBeGreaterThan(5);
    expect(full.log).toContain(`the database in ${databasePath(datadir)} cannot grow`);
    expect((await head()).hash).toBe(driver.acknowledged.chain.at(-1));
    expect(await full.killAfter(0)).toBe(true);
    await engine.close();

    const roomy = new KillableClient(PROGRAM, args);
    const again = await connect(roomy);
    const latest = await again.call<{ hash: Hex }>("eth_getBlockByNumber", ["latest", false]);
    expect(latest.hash).toBe(driver.acknowledged.chain.at(-1));
    const going = new EngineDriver(again, driver.acknowledged, driver.nextSeed);
    for (let i = 0; i < 5; i++) await going.buildBlock();
    await roomy.killAfter(0);
    await again.close();
    const store = openChainStore(databasePath(datadir));
    expect(store.head()!.hash).toBe(going.acknowledged.chain.at(-1));
    expect(store.verifyState().problems).toEqual([]);
    await store.close();
  });
});

describe("a second process", () => {
  it("is refused while the first one lives, and not when that was killed", { tags: "long", timeout: TIMEOUT_MS }, async () => {
    const datadir = at("shared");
    const first = new KillableClient(PROGRAM, [
      `--chain=${at("genesis.json")}`,
      `--datadir=${datadir}`,
      "--authrpc.port=0",
      "--max-peers=0",
    ]);
    expect(await first.enginePort()).toBeDefined();
    const pid = /rengine starts.* pid=(\d+)/.exec(first.log)![1];
    const locked = `process ${pid} has the database in ${databasePath(datadir)} open: stop that process, or give another --datadir: a database has one writer`;
    expect(importInto(datadir)).toMatchObject({ status: 1, error: `rengine import: ${locked}` });
    const second = rengine([`--chain=${at("genesis.json")}`, `--datadir=${datadir}`, "--authrpc.port=0", "--max-peers=0"]);
    expect(second.status).toBe(1);
    expect(second.error).toContain(`lvl=error msg="rengine cannot start" error="${locked}"`);
    // Reading works, because it writes nothing.
    expect(rengine(["db", "verify", `--datadir=${datadir}`]).status).toBe(0);
    expect(await first.killAfter(0)).toBe(true);
    expect(importInto(datadir)).toMatchObject({ status: 0, out: `head ${BLOCKS} ${hashes.at(-1)}` });
  });
});

describe("a damaged file", () => {
  it("ends the client when its readers find it so", { tags: "long", timeout: TIMEOUT_MS }, async () => {
    const datadir = at("damaged-alive");
    importInto(datadir);
    const args = [`--chain=${at("genesis.json")}`, `--datadir=${datadir}`, "--http", "--http.port=0", "--rpc.workers=1"];
    const client = new KillableClient(PROGRAM, [...args, "--authrpc.port=0", "--max-peers=0", "--log.level=debug"]);
    const reader = Number(await client.logged(/reader is ready.* pid=(\d+)/));
    await client.logged(/HTTP JSON-RPC (listens)/);
    const file = openSync(join(databasePath(datadir), "data.mdb"), "r+"); // the client has the file mapped, so it must not get shorter
    writeSync(file, Buffer.alloc(1_000_000, 0xa5), 0, 1_000_000, 200_000);
    closeSync(file);
    process.kill(reader, "SIGKILL");
    expect(await client.exitCode()).toBe(1);
    expect(client.log).toMatch(
      /lvl=error msg="rengine cannot go on" error="the database is damaged: .*: put a copy of the folder back, or remove it and import the chain anew"\n/,
    );
  });

  const DAMAGES: readonly [string, (file: string) => void][] = [
    ["cut in half", (file) => truncateSync(file, Math.floor(statSync(file).size / 2))],
    ["overwritten in its middle", (file) => writeFileSync(file, readFileSync(file).fill(0xa5, 200_000, 1_200_000))],
    ["without its meta pages", (file) => writeFileSync(file, readFileSync(file).fill(0, 0, 8192))],
    ["that is empty of all but zeros", (file) => writeFileSync(file, readFileSync(file).fill(0))],
  ];
  it.each(DAMAGES)(
    "%s is named by every command, and by the client at each start",
    { tags: "long", timeout: TIMEOUT_MS },
    (_, damage) => {
      if (rengine(["db", "stats", `--datadir=${at("damaged")}`]).status !== 0) importInto(at("damaged"));
      const file = join(databasePath(at("damaged")), "data.mdb");
      copyFileSync(file, at("copy.mdb"));
      damage(file);
      for (const args of [
        ["db", "stats"],
        ["db", "verify"],
        ["db", "prune", "--full"],
        ["export", at("out.rlp")],
        ["import", `--chain=${at("genesis.json")}`, at("chain.rlp")],
        [`--chain=${at("genesis.json")}`, "--authrpc.port=0", "--max-peers=0"],
      ]) {
        const { status, signal, error } = rengine([...args, `--datadir=${at("damaged")}`]);
        expect({ args, status, signal }).toEqual({ args, status: 1, signal: null });
        expect(error).toMatch(/the database is damaged: .*data\.mdb /);
        expect(error).toContain(databasePath(at("damaged")));
        expect(error).toMatch(/: put a copy of the folder back, or remove it and import the chain anew"?$/m);
      }
      copyFileSync(at("copy.mdb"), file); // as the error message advises
      expect(rengine(["db", "verify", `--datadir=${at("damaged")}`]).status).toBe(0);
    },
  );
});
