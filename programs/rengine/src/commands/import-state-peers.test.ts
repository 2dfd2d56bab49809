import { existsSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bytesToHex, EMPTY_KECCAK, equalBytes, type Hex } from "@rnode/primitives";
import { until } from "@rnode/program/testing";
import { openChainStore } from "@rnode/storage";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { databasePath } from "../setup/database.ts";
import { buildPackage, PROGRAM } from "../testing/built-package.ts";
import { generateBlocks, WRITER_GENESIS } from "../testing/generated-blocks.ts";
import { KillableClient } from "../testing/kill-process.ts";
import { startTestClient, type TestClient } from "../testing/test-client.ts";
import { importState } from "./import-state.ts";

const root = mkdtempSync(join(tmpdir(), "import-state-peers-"));
const genesis = join(root, "genesis.json");
const CHAIN = { alloc: WRITER_GENESIS.alloc };
const ON = ["--max-peers=5", "--addr=127.0.0.1", "--port=0", "--nat=none", "--disable-discovery", "--http.api=eth,admin"];
const BLOCKS = 140;

const peers: TestClient[] = [];
let enodes: string[];
let hashes: Hex[];
beforeAll(async () => {
  writeFileSync(genesis, JSON.stringify(WRITER_GENESIS));
  for (const name of ["a", "b"]) {
    const folder = mkdtempSync(join(root, name));
    ({ hashes } = await generateBlocks(genesis, databasePath(join(folder, "data")), BLOCKS));
    peers.push(await startTestClient(ON, folder, CHAIN));
  }
  enodes = await Promise.all(peers.map(enodeOf));
});
afterAll(async () => {
  await Promise.all(peers.map((peer) => peer.remove()));
});

const enodeOf = ({ rpc }: TestClient): Promise<string> =>
  until("it has joined the network", async () => {
    const { enode, ports } = await rpc.call<{ enode: string; ports: { listener: number } }>("admin_nodeInfo");
    return ports.listener > 0 && enode;
  });

const argsOf = (folder: string, from: readonly string[], blockHash: Hex): string[] => [
  `--chain=${genesis}`,
  `--datadir=${join(folder, "data")}`,
  `--from=${from.join(",")}`,
  `--block-hash=${blockHash}`,
];

async function run(...args: string[]): Promise<{ readonly code: number; readonly out: string; readonly err: string }> {
  const out: string[] = [];
  const err: string[] = [];
  const code = await importState(args, {}, { out: (line) => out.push(line), err: (line) => err.push(line), progress: () => {} });
  return { code, out: out.join("\n"), err: err.join("\n") };
}

/** All rows of the state after a block, and the codes. */
async function rowsOf(datadir: string, number: number): Promise<string[]> {
  const store = openChainStore(databasePath(datadir), { readOnly: true });
  try {
    const block = { number, hash: hashes[number]! };
    return [...store.stateRows(block)].map((row) => {
      if (row.kind === "slot") return `${bytesToHex(row.owner)} ${bytesToHex(row.hash)} ${bytesToHex(row.value)}`;
      const { nonce, balance, codeHash, storageRoot } = row.account;
      const code = equalBytes(codeHash, EMPTY_KECCAK) ? "" : bytesToHex(store.findCode(codeHash)!);
      return `${bytesToHex(row.hash)} ${nonce} ${balance} ${code} ${bytesToHex(storageRoot)}`;
    });
  } finally {
    await store.close();
  }
}

describe("the state of running nodes", () => {
  it.each([
    ["the head", 0],
    ["an old block", 127],
  ])("is taken over snap/1 after %s, with the last blocks, and the chain goes on from there", async (_, depth) => {
    const number = BLOCKS - depth;
    const folder = mkdtempSync(join(root, "new-"));
    const { code, err, out } = await run(...argsOf(folder, enodes, hashes[number]!));
    expect({ code, err }).toMatchObject({ code: 0 });
    expect(out).toContain(`block ${number} ${hashes[number]}`);
    const rows = await rowsOf(join(folder, "data"), number);
    expect(rows).toEqual(await rowsOf(join(peers[0]!.folder, "data"), number));
    expect(rows.length).toBeGreaterThan(300);
    for (const part of ["peers", "state"]) expect(existsSync(join(folder, `data/${part}.partial`))).toBe(false);
    const node = await startTestClient([], folder, CHAIN);
    try {
      expect(await node.rpc.call("eth_getBlockByNumber", ["latest", true])).toMatchObject({ hash: hashes[number] });
      await node.buildBlock();
      expect(Number(await node.rpc.call("eth_blockNumber"))).toBe(number + 1);
    } finally {
      await node.close();
    }
  });

  it.each([
    ["the same block", 0],
    ["newer ones", 30],
  ])("goes on after kill -9 on its way, with %s", { tags: "long" }, async (_, step) => {
    buildPackage();
    const folder = mkdtempSync(join(root, "killed-"));
    let number = BLOCKS - 4 * step;
    const next = (): string[] => ["import-state", ...argsOf(folder, enodes, hashes[number]!)];
    for (const wait of [0, 50, 100, 150]) {
      const killed = new KillableClient(PROGRAM, next());
      await until("it has begun", () => killed.hasEnded || existsSync(join(folder, "data/state.partial")));
      if (!(await killed.killAfter(wait))) break;
      number += step;
    }
    const again = new KillableClient(PROGRAM, existsSync(join(folder, "data/state.partial")) ? next() : ["--version"]);
    expect({ code: await again.exitCode(), log: again.log }).toMatchObject({ code: 0 });
    expect(existsSync(join(folder, "data/state.partial"))).toBe(false);
    expect(await rowsOf(join(folder, "data"), number)).toEqual(await rowsOf(join(peers[0]!.folder, "data"), number));
  });

  it("is not taken from an address that is none", async () => {
    const folder = mkdtempSync(join(root, "none-"));
    await expect(run(...argsOf(folder, ["enode://12@127.0.0.1:1"], hashes[1]!))).rejects.toThrow(/--from: .*is no node's address/);
  });
});
