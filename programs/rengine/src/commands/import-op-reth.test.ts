import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { hasOpRethFixtures, OP_RETH_FOLDERS, type OpRethFixture, readOpRethFixture, unpackOpReth } from "@rnode/reth-data/testing";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
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

const root = mkdtempSync(join(tmpdir(), "rengine-import-op-reth-"));
const genesis = join(root, "genesis.json");
const isThere = hasOpRethFixtures("the import of op-reth's data directories");

describe.skipIf(!isThere)("rengine import-state of what op-reth made", () => {
  let source: TestClient;
  /** those with code */
  let accounts: readonly Account[];
  beforeAll(async () => {
    for (const name of ["genesis.json", "blocks.rlp", "state-380.jsonl"]) {
      writeFileSync(join(root, name), await readOpRethFixture(`${name}.zst`));
    }
    const [, ...lines] = readFileSync(join(root, "state-380.jsonl"), "utf8").trim().split("\n");
    accounts = lines.map((line) => JSON.parse(line) as Account).filter(({ code }) => code !== undefined);
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
  const dump = { name: "dump", from: async () => join(root, "state-380.jsonl"), more: [`--block-hash=${HEAD}`] };
  it.each([...fixtures, dump])(
    "$name: the node has the head and the state of the other, and goes on",
    async ({ name, from, more }) => {
      const { out, err } = await run(name, await from(), ...more);
      expect(out).toMatch(new RegExp(`^block 380 ${HEAD} state ${STATE_ROOT} accounts 2947 slots 3761, `));
      expect(err.includes(`itself says that ${HEAD} is a block of the chain`)).toBe(more.length === 0);
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
    },
  );

  it("is refused with the hash of another block", async () => {
    await expect(run("refused", await unpackOpReth("v2"), `--block-hash=0x${"12".repeat(32)}`)).rejects.toThrow(
      /has the state after block 0xde6a4d98.*, and --block-hash says 0x1212/,
    );
  });
});
