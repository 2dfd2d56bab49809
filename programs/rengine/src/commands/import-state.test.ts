import { mkdtempSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { bytesToHex, EMPTY_KECCAK, equalBytes, type Hex, hexToBytes, toQuantity } from "@rnode/primitives";
import { openChainStore } from "@rnode/storage";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { databasePath } from "../setup/database.ts";
import { generateBlocks, WRITER_GENESIS } from "../testing/generated-blocks.ts";
import { RICH_ADDRESS, startTestClient, type TestClient } from "../testing/test-client.ts";
import { writeRegistry } from "../testing/test-registry.ts";
import { importState } from "./import-state.ts";

const root = mkdtempSync(join(tmpdir(), "rengine-import-state-"));
const genesis = join(root, "genesis.json");
const file = join(root, "state.jsonl");
const BLOCKS = 60;
const CHAIN = { alloc: WRITER_GENESIS.alloc };

async function run(...args: string[]): Promise<{ readonly out: string; readonly err: string }> {
  const out: string[] = [];
  const err: string[] = [];
  const code = await importState(args, {}, { out: (line) => out.push(line), err: (line) => err.push(line), progress: () => {} });
  expect({ code, err }).toMatchObject({ code: 0 });
  return { out: out.join("\n"), err: err.join("\n") };
}

/** What op-reth's `init-state` takes, of the newest block of a database that no client uses. */
async function dumpOf(datadir: string): Promise<string[]> {
  const store = openChainStore(databasePath(datadir));
  try {
    const head = store.head()!;
    const accounts: Record<string, unknown>[] = [];
    for (const row of store.stateRows(head)) {
      if (row.kind === "account") {
        const { balance, nonce, codeHash } = row.account;
        const code = equalBytes(codeHash, EMPTY_KECCAK) ? "0x" : bytesToHex(store.stateAt(head.number)!.readCode(codeHash));
        const address = bytesToHex(store.readPreimage(row.hash)!);
        accounts.push({
          balance: toQuantity(balance),
          nonce: toQuantity(nonce),
          ...(code !== "0x" && { code }),
          storage: {},
          address,
        });
      } else
        Object.assign(accounts.at(-1)!.storage as object, {
          [bytesToHex(store.readPreimage(row.hash)!)]: bytesToHex(row.value),
        });
    }
    const { stateRoot } = store.readHeader(hexToBytes(head.hash))!;
    return [JSON.stringify({ root: bytesToHex(stateRoot) }), ...accounts.map((account) => JSON.stringify(account))];
  } finally {
    await store.close();
  }
}

let source: TestClient;
let hashes: Hex[];
let lines: string[];
let liar: Server | undefined;
let count = 0;
beforeAll(async () => {
  const folder = mkdtempSync(join(tmpdir(), "rengine-import-state-"));
  writeFileSync(genesis, JSON.stringify(WRITER_GENESIS));
  ({ hashes } = await generateBlocks(genesis, databasePath(join(folder, "data")), BLOCKS));
  lines = await dumpOf(join(folder, "data"));
  writeFileSync(file, lines.join("\n"));
  source = await startTestClient([], folder, CHAIN);
});
afterEach(() => {
  liar?.close();
  liar = undefined;
});
afterAll(() => source.remove());

const given = (changes: Readonly<Record<string, string>> = {}): string[] =>
  Object.entries({
    chain: genesis,
    datadir: join(root, `data-${count}`, "data"),
    from: file,
    blocks: source.httpUrl,
    "block-hash": hashes[BLOCKS]!,
    ...changes,
  }).map(([name, value]) => `--${name}=${value}`);

/** An endpoint that changes the answers of the source. */
async function lying(change: (method: string, result: unknown) => unknown): Promise<string> {
  liar = createServer((request, response) => {
    void (async () => {
      const chunks: Buffer[] = [];
      for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
      const { id, method, params } = JSON.parse(Buffer.concat(chunks).toString()) as {
        id: number;
        method: string;
        params: unknown[];
      };
      const result = change(method, await source.rpc.call(method, params));
      response.setHeader("content-type", "application/json").end(JSON.stringify({ jsonrpc: "2.0", id, result }));
    })();
  });
  await new Promise<void>((resolve) => void liar!.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${(liar.address() as AddressInfo).port}`;
}

describe("rengine import-state", () => {
  it("makes a node that has the state and the last blocks, and goes on from there", async () => {
    count++;
    const { out } = await run(...given(), "--preimages");
    expect(out).toMatch(
      new RegExp(`^block ${BLOCKS} ${hashes[BLOCKS]} state 0x\\w+ accounts ${lines.length - 1} slots \\d+, \\d+ rows a second$`),
    );
    await expect(run(...given())).rejects.toThrow(/has a chain already, up to block 60/);
    expect(await dumpOf(join(root, `data-${count}`, "data"))).toEqual(lines);
    const node = await startTestClient([], join(root, `data-${count}`), CHAIN);
    try {
      const both = async (method: string, ...params: unknown[]) => {
        expect(await node.rpc.call(method, params)).toEqual(await source.rpc.call(method, params));
      };
      for (const number of [0, 1, BLOCKS]) await both("eth_getBlockByNumber", toQuantity(number), true);
      for (const number of [1, BLOCKS]) await both("eth_getBlockReceipts", toQuantity(number));
      await both("eth_getBalance", RICH_ADDRESS, "latest");
      await both("eth_getProof", RICH_ADDRESS, [], "latest");
      expect((await node.buildBlock()).number).toBe(BLOCKS + 1);
    } finally {
      await node.close();
    }
  });

  it("takes a packed file, and prints JSON", async () => {
    count++;
    const packed = join(root, "state.jsonl.gz");
    writeFileSync(packed, gzipSync(lines.join("\n")));
    const { out } = await run(...given({ from: packed }), "--json");
    expect(JSON.parse(out)).toMatchObject({ number: BLOCKS, hash: hashes[BLOCKS], accounts: lines.length - 1 });
  });

  it("makes a network's first block, if that has the state of another client, as OP Mainnet's", async () => {
    count++;
    const FIRST = 105_235_063;
    const folder = mkdtempSync(join(tmpdir(), "rengine-later-"));
    const start = () => startTestClient(["--preimages"], folder, { ...CHAIN, number: toQuantity(FIRST) });
    await (await start()).close();
    const dump = await dumpOf(join(folder, "data"));
    const other = await start();
    const datadir = join(root, `data-${count}`, "data");
    try {
      const { hash } = await other.rpc.call<{ hash: Hex }>("eth_getBlockByNumber", [toQuantity(FIRST), false]);
      const registry = writeRegistry(join(root, "registry"), { number: FIRST, hash });
      const from = join(root, "first.jsonl");
      writeFileSync(from, dump.join("\n"));
      const args = [`--chain=${registry}/test-mainnet`, `--datadir=${datadir}`, `--from=${from}`, `--blocks=${other.httpUrl}`];
      expect((await run(...args)).out).toMatch(new RegExp(`^block ${FIRST} ${hash} `));
      const node = await startTestClient([`--chain=${registry}/test-mainnet`], join(root, `data-${count}`), CHAIN);
      try {
        const params = ["latest", false];
        expect(await node.rpc.call("eth_getBlockByNumber", params)).toEqual(await other.rpc.call("eth_getBlockByNumber", params));
        expect((await node.buildBlock()).number).toBe(FIRST + 1);
      } finally {
        await node.close();
      }
    } finally {
      await other.remove();
    }
  });

  describe("writes nothing", () => {
    const changed = (change: (lines: string[]) => string[]): string => {
      const path = join(root, "changed.jsonl");
      writeFileSync(path, change([...lines]).join("\n"));
      return path;
    };

    it.each<[string, () => Record<string, string>, RegExp]>([
      [
        "if an account is missing",
        () => ({ from: changed((all) => all.slice(0, -1)) }),
        /^\S+changed\.jsonl: its \d+ accounts and \d+ slots have the state root 0x\w+, and that of block 60 is 0x\w+: nothing of it was kept$/,
      ],
      [
        "of the state of another block",
        () => ({ "block-hash": hashes[BLOCKS - 1]! }),
        /it is the state 0x\w+, and that of block 59 is/,
      ],
      ["of a block that the endpoint does not have", () => ({ "block-hash": `0x${"12".repeat(32)}` }), /there is no block 0x1212/],
      ["of a file that is not there", () => ({ from: "/nowhere" }), /--from: \/nowhere: no such file/],
      ["of a folder", () => ({ from: root }), /--from: .* is not a data directory of op-reth/],
      [
        "of an endpoint that is not there",
        () => ({ blocks: "http://127.0.0.1:9" }),
        /127\.0\.0\.1:9: .*ECONNREFUSED|127\.0\.0\.1:9/,
      ],
    ])("%s", async (_, changes, reason) => {
      count++;
      await expect(run(...given(changes()))).rejects.toThrow(reason);
    });

    it("without an endpoint, if the state is not that of the chain's first block", async () => {
      count++;
      const args = given().filter((arg) => !arg.startsWith("--blocks"));
      await expect(run(...args)).rejects.toThrow(/--blocks is required/);
    });

    it("of another output root", async () => {
      count++;
      await expect(run(...given({ "output-root": `0x${"12".repeat(32)}` }))).rejects.toThrow(
        /^\S+state\.jsonl: the output root of block 60 is 0x\w+, and --output-root says 0x1212\w+: nothing of it was kept$/,
      );
    });

    it("without a word on which block it is", async () => {
      count++;
      const args = given().filter((arg) => !arg.startsWith("--block-hash"));
      await expect(run(...args)).rejects.toThrow(/--block-hash is required/);
    });

    it.each<[string, (method: string, result: unknown) => unknown, RegExp]>([
      [
        "another block",
        (method, result) => (method === "eth_getBlockByHash" ? { ...(result as object), gasLimit: "0x1" } : result),
        /was asked for, and the answer is block/,
      ],
      [
        "other transactions",
        (method, result) => (method === "eth_getBlockByHash" ? { ...(result as object), transactions: [] } : result),
        /block \d+|receipts/,
      ],
      [
        "receipts of less",
        (method, result) => (method === "eth_getBlockReceipts" ? (result as unknown[]).slice(1) : result),
        /the receipts of block \d+ are not those/,
      ],
      ["no receipts", (method, result) => (method === "eth_getBlockReceipts" ? null : result), /and not its receipts/],
      ["junk", () => "0x", /127\.0\.0\.1/],
    ])("of what an endpoint gives: %s", async (_, change, reason) => {
      count++;
      await expect(run(...given({ blocks: await lying(change) }))).rejects.toThrow(reason);
    });
  });
});
