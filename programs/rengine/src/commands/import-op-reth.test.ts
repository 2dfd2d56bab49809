import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { hasOpRethFixtures, readOpRethFixture, unpackOpReth } from "@rnode/reth-data/testing";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTestClient, type TestClient } from "../testing/test-client.ts";
import { importBlocks } from "./import.ts";
import { importState } from "./import-state.ts";

const HEAD = "0xde6a4d98176455dcfd177c5c6a27775bd6111922162da36aadabbba019d98e49";
const STATE_ROOT = "0xbca427282ed957ffa6d9769f6535f8eb0f95fb31526cb0c22ba65edcb2b60c00";
const root = mkdtempSync(join(tmpdir(), "rengine-import-op-reth-"));
const genesis = join(root, "genesis.json");
const isThere = hasOpRethFixtures("the import of op-reth's data directories");

describe.skipIf(!isThere)("rengine import-state of what op-reth made", () => {
  let source: TestClient;
  beforeAll(async () => {
    for (const name of ["genesis.json", "blocks.rlp", "state-380.jsonl"]) {
      writeFileSync(join(root, name), await readOpRethFixture(`${name}.zst`));
    }
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

  it.each([
    ["a data directory (storage v1)", () => unpackOpReth("v1"), []],
    ["a state dump", async () => join(root, "state-380.jsonl"), [`--block-hash=${HEAD}`]],
  ])("%s: the node has the head of the other", async (name, from, more) => {
    const { out, err } = await run(name, await from(), ...more);
    expect(out).toMatch(new RegExp(`^block 380 ${HEAD} state ${STATE_ROOT} accounts 2947 slots 3761, `));
    expect(err.includes(`itself says that ${HEAD} is a block of the chain`)).toBe(more.length === 0);
    const node = await startTestClient([`--chain=${genesis}`], join(root, name));
    try {
      for (const params of [
        ["eth_getBlockByNumber", "latest", true],
        ["eth_getBlockReceipts", "latest"],
        ["eth_getProof", "0x4200000000000000000000000000000000000015", ["0x0"], "latest"],
        ["eth_getCode", "0x4200000000000000000000000000000000000015", "latest"],
      ]) {
        const [method, ...rest] = params as [string, ...unknown[]];
        expect(await node.rpc.call(method, rest)).toEqual(await source.rpc.call(method, rest));
      }
    } finally {
      await node.close();
      rmSync(join(root, name), { recursive: true });
    }
  });

  it("is refused with hashed keys only, and with the hash of another block", async () => {
    const [v1, v2] = [await unpackOpReth("v1"), await unpackOpReth("v2")];
    await expect(run("refused", v2)).rejects.toThrow(
      /under hashed keys only \(storage v2\), which cannot be taken yet: give lines of JSON/,
    );
    await expect(run("refused", v1, `--block-hash=0x${"12".repeat(32)}`)).rejects.toThrow(
      /has the state after block 0xde6a4d98.*, and --block-hash says 0x1212/,
    );
  });
});
