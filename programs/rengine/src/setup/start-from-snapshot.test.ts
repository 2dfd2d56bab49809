import { generateKeyPairSync } from "node:crypto";
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bytesToHex, type Hex, toQuantity } from "@rnode/primitives";
import { until } from "@rnode/program/testing";
import { publicKeyOf } from "@rnode/snapshot";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { snapshot as command } from "../commands/snapshot.ts";
import { buildPackage, PROGRAM } from "../testing/built-package.ts";
import { clientsOfTest } from "../testing/clients-of-test.ts";
import { generateBlocks, WRITER_GENESIS } from "../testing/generated-blocks.ts";
import { KillableClient } from "../testing/kill-process.ts";
import { databasePath, openExistingDatabase } from "./database.ts";

const root = mkdtempSync(join(tmpdir(), "rengine-start-"));
const genesis = join(root, "genesis.json");
const source = join(root, "source");
const store = join(root, "store");
const keyFile = join(root, "key.pem");
const { privateKey } = generateKeyPairSync("ed25519");
const publicKey = `--snapshot.public-key=${bytesToHex(publicKeyOf(privateKey))}`;
const otherKey = `--snapshot.public-key=${bytesToHex(publicKeyOf(generateKeyPairSync("ed25519").privateKey))}`;
const CHAIN = { alloc: WRITER_GENESIS.alloc };
const BLOCKS = 8;
const { start } = clientsOfTest();

let hashes: Hex[];
let server: Server;
let url: string;
/** what was asked for, and how much of a file is sent before the connection breaks */
const asked: string[] = [];
let breaksAfter: number | undefined;

async function run(...args: string[]): Promise<{ readonly out: string[]; readonly err: string[] }> {
  const [out, err]: [string[], string[]] = [[], []];
  const io = { out: (line: string) => out.push(line), err: (line: string) => err.push(line), progress: () => {} };
  const code = await command(["create", `--chain=${genesis}`, `--datadir=${source}`, ...args], {}, io);
  return { out, err: code === 0 ? err : [`code ${code}`, ...err] };
}

beforeAll(async () => {
  writeFileSync(genesis, JSON.stringify(WRITER_GENESIS));
  ({ hashes } = await generateBlocks(genesis, databasePath(source), BLOCKS));
  writeFileSync(keyFile, privateKey.export({ format: "pem", type: "pkcs8" }), { mode: 0o600 });
  await run(`--to=${store}`, `--signing-key=${keyFile}`, "--block=5");
  await run(`--to=${store}`, `--signing-key=${keyFile}`, "--block=7");
  server = createServer(({ url: path, headers }, response) => {
    const file = join(store, path!);
    asked.push(`${path} ${headers.range ?? "whole"}`);
    if (!existsSync(file)) return void response.writeHead(404).end();
    const bytes = readFileSync(file);
    const from = Number(/^bytes=(\d+)-$/.exec(headers.range ?? "")?.[1] ?? 0);
    const range = from > 0 ? { "content-range": `bytes ${from}-${bytes.length - 1}/${bytes.length}` } : {};
    response.writeHead(from > 0 ? 206 : 200, { "content-length": bytes.length - from, ...range });
    if (breaksAfter === undefined || path === "/index.json") response.end(bytes.subarray(from));
    else response.write(bytes.subarray(from, breaksAfter));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

let folders = 0;
const newFolder = (): string => {
  const folder = join(root, `node-${folders++}`);
  mkdirSync(folder);
  return folder;
};
const headOf = async (node: Awaited<ReturnType<typeof start>>): Promise<unknown> =>
  node.rpc.call("eth_getBlockByNumber", ["latest", false]);

describe("rengine --snapshot", () => {
  it("gives an empty disk the newest state that a trusted key has signed, and leaves a database alone", async () => {
    const folder = newFolder();
    const node = await start([`--snapshot=${url}`, publicKey], folder, CHAIN);
    expect(await headOf(node)).toMatchObject({ number: toQuantity(7), hash: hashes[7] });
    await node.buildBlock();
    expect(readdirSync(join(folder, "data")).filter((name) => name.startsWith("snapshot"))).toEqual([]);
    await node.close();
    const before = asked.length;
    const again = await start([`--snapshot=${url}`, publicKey], folder, CHAIN);
    expect(await headOf(again)).toMatchObject({ number: toQuantity(8) });
    expect(asked.length).toBe(before);
  });

  it("takes the snapshot of a block that was named, signed or not", async () => {
    const unsigned = join(store, "unsigned");
    mkdirSync(unsigned);
    for (const name of readdirSync(store)) if (name.endsWith(".snap")) copyFileSync(join(store, name), join(unsigned, name));
    const index = JSON.parse(readFileSync(join(store, "index.json"), "utf8")) as { signed: string };
    writeFileSync(join(unsigned, "index.json"), JSON.stringify({ signed: index.signed }));
    const block = `--snapshot.block-hash=${hashes[5]}`;
    const node = await start([`--snapshot=${url}/unsigned/index.json`, block], newFolder(), CHAIN);
    expect(await headOf(node)).toMatchObject({ hash: hashes[5] });
    await expect(start([`--snapshot=${url}/unsigned`, publicKey], newFolder(), CHAIN)).rejects.toThrow(/it is not signed/);
  });

  it.each<[string, readonly string[], RegExp]>([
    ["nobody is trusted", [], /say whom to trust: --snapshot.public-key.*--snapshot.block-hash/],
    ["the index has another signer", [otherKey], /is signed with the key 0x/],
    ["the block is not there", [`--snapshot.block-hash=0x${"12".repeat(32)}`], /none of block 0x1212.*there: block 7 \(0x/],
  ])("does not start if %s", async (_, args, reason) => {
    const folder = newFolder();
    await expect(start([`--snapshot=${url}/`, ...args], folder, CHAIN)).rejects.toThrow(reason);
    await expect(start([], folder, CHAIN)).resolves.toBeDefined(); // from the genesis
  });

  it("does not start with another file than the index says, and does not keep it", async () => {
    const folder = newFolder();
    const forged = join(store, "forged");
    mkdirSync(forged);
    copyFileSync(join(store, "index.json"), join(forged, "index.json"));
    const names = readdirSync(store).filter((name) => name.endsWith(".snap"));
    const [older, newer] = names.sort();
    copyFileSync(join(store, older!), join(forged, newer!));
    await expect(start([`--snapshot=${url}/forged`, publicKey], folder, CHAIN)).rejects.toThrow(
      /allowed are|of another block|has the sha256/,
    );
    const bytes = readFileSync(join(store, newer!));
    bytes[bytes.length - 100]! ^= 1;
    writeFileSync(join(forged, newer!), bytes);
    await expect(start([`--snapshot=${url}/forged`, publicKey], folder, CHAIN)).rejects.toThrow(/damaged/);
    expect(readdirSync(join(folder, "data")).filter((name) => name.startsWith("snapshot"))).toEqual([]);
  });

  it("goes on after a kill with the snapshot that it had begun", { tags: "long" }, async () => {
    buildPackage();
    const datadir = join(newFolder(), "data");
    const args = [
      `--chain=${genesis}`,
      `--datadir=${datadir}`,
      "--authrpc.port=0",
      "--max-peers=0",
      `--snapshot=${url}`,
      publicKey,
    ];
    const name = readdirSync(store).find((each) => each.includes("-7-"))!;
    const partial = join(datadir, `snapshot.${name}`);
    breaksAfter = readFileSync(join(store, name)).length - 10; // all but the end's frame
    const child = new KillableClient(PROGRAM, args);
    try {
      await until(() => existsSync(partial) && readFileSync(partial).length > 0);
    } finally {
      await child.killAfter(0);
      breaksAfter = undefined;
    }
    await run(`--to=${store}`, `--signing-key=${keyFile}`, "--block=8");
    const second = new KillableClient(PROGRAM, args);
    try {
      await until(() => !existsSync(partial) && existsSync(databasePath(datadir)));
    } finally {
      await second.killAfter(0);
      rmSync(join(store, readdirSync(store).find((each) => each.includes("-8-"))!));
    }
    expect(asked.at(-1)).toMatch(new RegExp(`^/${name} bytes=[1-9]\\d+-$`));
    const database = openExistingDatabase(datadir, { readOnly: true });
    expect(database.head()).toEqual({ number: 7, hash: hashes[7] });
    await database.close();
  });
});

describe("rengine snapshot create --to", () => {
  it("publishes so often as --every says, until it is asked to end", async () => {
    const place = join(root, "often");
    const lines: string[] = [];
    const io = { out: (line: string) => lines.push(line), err: (line: string) => lines.push(line), progress: () => {} };
    const args = ["create", `--chain=${genesis}`, `--datadir=${source}`, `--to=${place}`, "--every=10ms", "--keep=1", "--block=6"];
    const ended = command(args, {}, io);
    await until(() => lines.filter((line) => /has the snapshot of block 6 already/.test(line)).length > 1);
    process.emit("SIGTERM");
    expect(await ended).toBe(0);
    expect(lines[0]).toMatch(/^the index is not signed/);
    expect(lines[1]).toMatch(new RegExp(`^no rollup node can start|^block 6 ${hashes[6]}`));
    expect(lines.find((line) => line.startsWith("published"))).toBe(
      `published ${readdirSync(place).find((name) => name.endsWith(".snap"))}`,
    );
  });

  it("waits for a database, and ends if the place cannot be used", async () => {
    const lines: string[] = [];
    const io = { out: (line: string) => lines.push(line), err: (line: string) => lines.push(line), progress: () => {} };
    const args = ["create", `--chain=${genesis}`, `--datadir=${join(root, "later")}`, "--every=20ms"];
    const ended = command([...args, `--to=${join(root, "waiting")}`], {}, io);
    await until(
      () => lines.filter((line) => /no snapshot was made: .*holds no chain database.*trying again in 0.02 s/.test(line)).length > 1,
    );
    process.emit("SIGTERM");
    expect(await ended).toBe(0);
    await run(`--to=${join(root, "signed")}`, `--signing-key=${keyFile}`, "--block=5");
    await expect(run(`--to=${join(root, "signed")}`, "--every=1h", "--block=6")).rejects.toThrow(
      /no key was given to sign the next one/,
    );
  });

  it.each<[string, readonly string[], RegExp]>([
    ["neither a file nor a place", [], /name a FILE for one snapshot, or a place/],
    ["both", ["--to=/tmp/x", "file"], /name a FILE for one snapshot, or a place/],
    ["a bucket without credentials", ["--to=s3://bucket/x"], /the environment has no AWS_ACCESS_KEY_ID/],
    ["a key of another kind", [`--to=${join(root, "x")}`, `--signing-key=${genesis}`], /holds no ed25519 key: expected PEM/],
    ["no key", [`--to=${join(root, "x")}`, "--signing-key=/nowhere"], /nowhere: no such file/],
  ])("with %s does nothing", async (_, args, reason) => {
    await expect(run(...args)).rejects.toThrow(reason);
  });

  it("has options that need a place", async () => {
    expect((await run("--every=1h", join(root, "x.snap"))).err).toEqual(["code 1", expect.stringMatching(/--every.*--to/)]);
  });
});
