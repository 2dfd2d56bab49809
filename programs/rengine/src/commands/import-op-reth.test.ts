import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { startFlakyServer } from "@rnode/download/testing";
import { bytesToHex, type Hex, hexToBytes, toQuantity } from "@rnode/primitives";
import { decodeBlockPrefix, outputRoot } from "@rnode/protocol";
import {
  hasOpRethFixtures,
  OP_RETH_FOLDERS,
  type OpRethFixture,
  opRethArchive,
  readOpRethFixture,
  unpackOpReth,
} from "@rnode/reth-data/testing";
import { openChainStore } from "@rnode/storage";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { databasePath } from "../setup/database.ts";
import { startTestClient, type TestClient } from "../testing/test-client.ts";
import { importBlocks } from "./import.ts";
import { importState } from "./import-state.ts";

const HEAD = "0xde6a4d98176455dcfd177c5c6a27775bd6111922162da36aadabbba019d98e49";
const STATE_ROOT = "0xbca427282ed957ffa6d9769f6535f8eb0f95fb31526cb0c22ba65edcb2b60c00";
interface Account {
  readonly address: string;
  readonly code?: string;
  readonly storage?: object;
}

/** Of an account without code: flags, then the balance 12345. */
const BALANCE = Buffer.from("20003039", "hex");
const root = mkdtempSync(join(tmpdir(), "rengine-import-op-reth-"));
const genesis = join(root, "genesis.json");
const isThere = hasOpRethFixtures("the import of op-reth's data directories");

describe.skipIf(!isThere)("rengine import-state of what op-reth made", () => {
  let source: TestClient;
  /** one of each code, and one in 40 of the others with code */
  let accounts: readonly Account[];
  beforeAll(async () => {
    for (const name of ["genesis.json", "blocks.rlp", "state-380.jsonl"]) {
      writeFileSync(join(root, name), await readOpRethFixture(`${name}.zst`));
    }
    const [, ...lines] = readFileSync(join(root, "state-380.jsonl"), "utf8").trim().split("\n");
    const codes = new Set<string>();
    accounts = lines
      .map((line) => JSON.parse(line) as Account)
      .filter(({ code }, i) => code !== undefined && (codes.size < codes.add(code).size || i % 40 === 0));
    const folder = join(root, "source");
    const quiet = { out: () => {}, err: () => {}, progress: () => {} };
    const args = [`--chain=${genesis}`, `--datadir=${join(folder, "data")}`, join(root, "blocks.rlp")];
    expect(await importBlocks(args, {}, quiet)).toBe(0);
    source = await startTestClient([`--chain=${genesis}`], folder);
  });
  afterAll(() => source.remove());

  async function run(name: string, from: string, ...more: string[]): Promise<{ readonly out: string; readonly err: string }> {
    const datadir = join(root, name, "data");
    const out: string[] = [];
    const err: string[] = [];
    const io = { out: (line: string) => out.push(line), err: (line: string) => err.push(line), progress: () => {} };
    const args = [`--chain=${genesis}`, `--datadir=${datadir}`, `--from=${from}`, `--blocks=${source.httpUrl}`, ...more];
    expect(await importState(args, {}, io)).toBe(0);
    return { out: out.join("\n"), err: err.join("\n") };
  }

  const fixtures = (Object.keys(OP_RETH_FOLDERS) as OpRethFixture[]).map((name) => ({
    name,
    from: () => unpackOpReth(name),
    more: [],
  }));
  const archives = (["v1", "pruned"] as const).map((name) => ({
    name: `archive-${name}`,
    from: async () => opRethArchive(name),
    more: [],
  }));
  const url = { name: "url", from: () => served(readFileSync(opRethArchive("v2"))), more: [] };
  const manifest = { name: "manifest", from: () => servedManifest(901), more: [] };
  const dump = { name: "dump", from: async () => join(root, "state-380.jsonl"), more: [`--block-hash=${HEAD}`] };
  for (const { name, from, more } of [...fixtures, ...archives, url, manifest, dump]) {
    const tags = ["v2", "dump"].includes(name) ? [] : ["long"];
    it(`${name}: the node has the head and the state of the other, and goes on`, { tags }, async () => {
      const { out, err } = await run(name, await from(), ...more);
      expect(out).toMatch(new RegExp(`^block 380 ${HEAD} state ${STATE_ROOT} accounts 2947 slots 3761, `));
      expect(err.includes(`itself says that ${HEAD} is a block of the chain`)).toBe(more.length === 0);
      expect(readdirSync(join(root, name, "data"))).not.toContain("op-reth.partial");
      const node = await startTestClient([`--chain=${genesis}`], join(root, name));
      const both = async (method: string, ...params: unknown[]): Promise<void> => {
        expect(await node.rpc.call(method, params)).toEqual(await source.rpc.call(method, params));
      };
      try {
        await both("eth_getBlockByNumber", "latest", true);
        await both("eth_getBlockReceipts", "latest");
        for (const { address, storage = {} } of accounts) {
          await both("eth_getCode", address, "latest");
          await both("eth_getProof", address, Object.keys(storage).slice(0, 100), "latest");
        }
        const { payload } = await node.buildBlock();
        const { executionPayload, parentBeaconBlockRoot, executionRequests } = payload;
        const given = [executionPayload, [], parentBeaconBlockRoot, executionRequests];
        expect(await source.engine.call("engine_newPayloadV4", given)).toMatchObject({ status: "VALID" });
      } finally {
        await node.close();
        rmSync(join(root, name), { recursive: true });
      }
    });
  }

  /** A file at a URL, which breaks off once. */
  async function served(bytes: Uint8Array): Promise<string> {
    const server = await startFlakyServer(() => bytes, {
      breaksAfter: (request) => (request === 0 ? undefined : request === 1 ? 300_000 : undefined),
    });
    onTestFinished(() => server.close());
    return server.url;
  }

  /** A manifest at a URL, with archives of the state and of the headers. */
  async function servedManifest(chainId: number): Promise<string> {
    const folder = await unpackOpReth("v2");
    const pack = (name: string, ...paths: string[]): void => {
      expect(spawnSync("tar", ["-cf", join(folder, name), "-C", folder, ...paths]).status).toBe(0);
    };
    const headers = "static_files/static_file_headers_0_499999";
    pack("state.tar.zst", "db");
    pack("headers-0-380.tar.zst", headers, `${headers}.conf`, `${headers}.off`);
    const components = {
      state: { file: "state.tar.zst", size: 1, output_files: [] },
      headers: { blocks_per_file: 500_000, total_blocks: 381, chunk_sizes: [1] },
    };
    const content = { block: 380, chain_id: chainId, storage_version: 2, timestamp: 1, components };
    writeFileSync(join(folder, "manifest.json"), JSON.stringify(content));
    const server = createServer(({ url: path = "" }, response) => {
      const file = join(folder, basename(path));
      if (existsSync(file)) response.end(readFileSync(file));
      else response.writeHead(404).end();
    });
    await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void server.close());
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}/chain/manifest.json`;
  }

  it("with --history: the node fetches all older blocks, receipts and logs while it serves, also after a restart", async () => {
    const args = ["--history", `--blocks=${source.httpUrl}`];
    const { err } = await run("history", await unpackOpReth("pruned"), ...args);
    expect(err).toContain("rengine fetches older blocks");
    for (const isComplete of [false, true]) {
      const node = await startTestClient([`--chain=${genesis}`], join(root, "history"));
      const ask = (method: string, ...params: unknown[]): Promise<unknown> => node.rpc.call(method, params);
      const has = async (number: number): Promise<boolean> =>
        (await ask("eth_getBlockReceipts", toQuantity(number)).catch(() => null)) !== null;
      try {
        await expect.poll(() => has(isComplete ? 1 : 300), { timeout: 60_000 }).toBe(true);
        if (!isComplete) continue;
        for (const number of [1, 2, 99, 200, 299]) {
          for (const params of [
            ["eth_getBlockByNumber", toQuantity(number), true],
            ["eth_getBlockReceipts", toQuantity(number)],
            ["eth_getLogs", { fromBlock: toQuantity(number), toBlock: toQuantity(number + 50) }],
          ] as const) {
            const [method, ...rest] = params;
            expect(await ask(method, ...rest)).toEqual(await source.rpc.call(method, rest));
          }
        }
        expect((await node.buildBlock()).number).toBe(381);
      } finally {
        await node.close();
      }
    }
    rmSync(join(root, "history"), { recursive: true });
  });

  it("with blocks of a file: the node has the blocks, no receipts, and goes on", async () => {
    const { err } = await run("file", await unpackOpReth("v2"), `--blocks=${join(root, "blocks.rlp")}`);
    expect(err).toMatch(/blocks\.rlp: blocks without their receipts: .* An execution client as --blocks has them$/);
    const node = await startTestClient([`--chain=${genesis}`], join(root, "file"));
    try {
      for (const number of ["latest", "0x170"]) {
        const params = [number, false];
        expect(await node.rpc.call("eth_getBlockByNumber", params)).toEqual(await source.rpc.call("eth_getBlockByNumber", params));
        await expect(node.rpc.call("eth_getBlockReceipts", [number])).rejects.toThrow(/pruned history unavailable/);
      }
      expect((await node.buildBlock()).number).toBe(381);
    } finally {
      await node.close();
      rmSync(join(root, "file"), { recursive: true });
    }
  });

  it("has the output root that another node gives", async () => {
    const { stateRoot, withdrawalsRoot } = await source.rpc.call<Record<string, Hex>>("eth_getBlockByNumber", ["latest", false]);
    const root380 = bytesToHex(
      outputRoot({
        stateRoot: hexToBytes(stateRoot!),
        messagePasserStorageRoot: hexToBytes(withdrawalsRoot!),
        blockHash: hexToBytes(HEAD),
      }),
    );
    const { err } = await run("output", await unpackOpReth("v2"), `--output-root=${root380}`);
    expect(err).not.toContain("itself says");
    await expect(run("other", await unpackOpReth("v2"), `--output-root=0x${"12".repeat(32)}`)).rejects.toThrow(
      new RegExp(`the output root of block 380 is ${root380}, and --output-root says 0x1212\\w+: nothing of it was kept`),
    );
    rmSync(join(root, "output"), { recursive: true, force: true });
    const dump = join(root, "state-380.jsonl");
    for (const blocks of [source.httpUrl, join(root, "blocks.rlp")]) {
      const { out } = await run("by-root", dump, `--blocks=${blocks}`, `--output-root=${root380}`);
      expect(out).toMatch(new RegExp(`^block 380 ${HEAD} `));
      rmSync(join(root, "by-root"), { recursive: true, force: true });
      await expect(run("by-root", dump, `--blocks=${blocks}`, `--output-root=0x${"12".repeat(32)}`)).rejects.toThrow(
        /^--block-hash is required with this --output-root: no block of --blocks has it, down to block 0$/,
      );
    }
  });

  describe("is refused, and leaves no chain", () => {
    /** Changes a byte after each place of some bytes: old pages may have them, too. */
    const flip = (path: string, found: Buffer, distance: number): void => {
      const bytes = readFileSync(path);
      for (let at = bytes.indexOf(found); at >= 0; at = bytes.indexOf(found, at + 1)) bytes[at + distance]! ^= 1;
      writeFileSync(path, bytes);
    };
    const flipLast = (path: string, fromEnd: number): void => {
      const bytes = readFileSync(path);
      bytes[bytes.length - fromEnd]! ^= 1;
      writeFileSync(path, bytes);
    };
    const database = "db/mdbx.dat";
    const headers = "static_files/static_file_headers_0_499999";

    it.each<[string, (folder: string) => unknown, readonly string[], RegExp]>([
      [
        "with the hash of another block",
        () => {},
        [`--block-hash=0x${"12".repeat(32)}`],
        /has the state after block 0xde6a4d98.*, and --block-hash says 0x1212/,
      ],
      [
        "with a balance of another account",
        (folder) => flip(join(folder, database), BALANCE, 3),
        [],
        /^\S+: its 2947 accounts and 3761 slots have the state root 0x\w+, and that of block 380 is 0xbca427.*: nothing of it was kept$/,
      ],
      [
        "with a database that is cut",
        (folder) => truncateSync(join(folder, database), 1 << 20),
        [],
        /^--from: .*mdbx\.dat is damaged at /,
      ],
      [
        "without its database",
        (folder) => rmSync(join(folder, database)),
        [],
        /^--from: .* is not a data directory of op-reth: it has no db\/mdbx\.dat$/,
      ],
      [
        "without the database's version",
        (folder) => rmSync(join(folder, "db/database.version")),
        [],
        /it has no db\/database\.version$/,
      ],
      [
        "of a later version",
        (folder) => writeFileSync(join(folder, "db/database.version"), "3"),
        [],
        /database\.version is "3"; this program reads "2"$/,
      ],
      ["without headers", (folder) => rmSync(join(folder, `${headers}.conf`)), [], /^--from: .*headers_0_499999/],
      [
        "with headers that are cut",
        (folder) => truncateSync(join(folder, headers), 1000),
        [],
        /^--from: .*headers_0_499999 is damaged at /,
      ],
      [
        "with a header that was changed",
        (folder) => flipLast(join(folder, headers), 200),
        [],
        /^--from: .*headers_0_499999 is damaged at /,
      ],
    ])("%s", async (_, change, more, reason) => {
      const from = await unpackOpReth("v2");
      change(from);
      rmSync(join(root, "refused"), { recursive: true, force: true });
      await expect(run("refused", from, ...more)).rejects.toThrow(reason);
      expect(headOf(join(root, "refused", "data"))).toBeUndefined();
    });

    it.each<[string, () => string | Promise<string>, RegExp]>([
      [
        "an archive that is cut",
        () => served(readFileSync(opRethArchive("v2")).subarray(0, 500_000)),
        /^--from: .*: broken Zstandard data$/,
      ],
      [
        "an archive that is damaged",
        () => {
          const bytes = readFileSync(opRethArchive("v2"));
          bytes.fill(0x55, 300_000, 300_200);
          return served(bytes);
        },
        /^--from: .*: (?:broken Zstandard data|the archive is damaged: .*)$|have the state root|is damaged at|reth-data/,
      ],
      ["a manifest of another chain", () => servedManifest(902), /is of chain 902, and --chain is chain 901$/],
      ["an archive that is not there", () => "http://127.0.0.1:9/archive.tar.zst", /127\.0\.0\.1:9/],
    ])("%s", { timeout: 300_000 }, async (_, from, reason) => {
      rmSync(join(root, "refused"), { recursive: true, force: true });
      await expect(run("refused", await from())).rejects.toThrow(reason);
      expect(headOf(join(root, "refused", "data"))).toBeUndefined();
      expect(existsSync(join(root, "refused", "data", "op-reth.partial"))).toBe(false);
    });

    it("with blocks of another chain, and with blocks that end early", async () => {
      const bytes = readFileSync(join(root, "blocks.rlp"));
      const { end } = decodeBlockPrefix(bytes, 0);
      const v2 = await unpackOpReth("v2");
      for (const [content, reason] of [
        [bytes.subarray(0, end), /^--blocks: there is no block 0xde6a4d98/],
        [bytes.subarray(0, -1), /^.*other-blocks\.rlp: block 380, at byte \d+, is cut off$/],
      ] as const) {
        const file = join(root, "other-blocks.rlp");
        writeFileSync(file, content);
        rmSync(join(root, "refused"), { recursive: true, force: true });
        await expect(run("refused", v2, `--blocks=${file}`)).rejects.toThrow(reason);
        expect(headOf(join(root, "refused", "data"))).toBeUndefined();
      }
    });

    it("of another chain", async () => {
      const other = join(root, "other.json");
      const content = JSON.parse(readFileSync(genesis, "utf8")) as object;
      writeFileSync(other, JSON.stringify({ ...content, timestamp: "0x1" }));
      await expect(run("refused", await unpackOpReth("v2"), `--chain=${other}`)).rejects.toThrow(
        /^--from: .* is of another chain: its block 0 is 0x1b5cc0b7.*, and that of --chain is 0x/,
      );
    });
  });
});

/** The newest block of a database, which may not exist. */
function headOf(datadir: string): unknown {
  if (!existsSync(datadir)) return undefined;
  const store = openChainStore(databasePath(datadir));
  try {
    return store.head();
  } finally {
    void store.close();
  }
}
