import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fetchWitnessFile } from "@rnode/chain";
import { startFlakyServer } from "@rnode/download/testing";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { GENESIS, startTestClient, type TestClient } from "../testing/test-client.ts";
import { init } from "./init.ts";
import { stateless } from "./stateless.ts";

type Run = { readonly code: number; readonly out: string; readonly err: string };
async function run(command: typeof stateless, ...args: string[]): Promise<Run> {
  const out: string[] = [];
  const err: string[] = [];
  const code = await command(args, {}, { out: (line) => out.push(line), err: (line) => err.push(line), progress: () => {} });
  return { code, out: out.join("\n"), err: err.join("\n") };
}

const folder = mkdtempSync(join(tmpdir(), "rengine-stateless-"));
const genesisPath = join(folder, "genesis.json");
beforeAll(() => writeFileSync(genesisPath, JSON.stringify(GENESIS)));

describe("rengine stateless", () => {
  let nodes: TestClient[];
  beforeAll(async () => {
    nodes = [];
    for (const profile of ["R", "G"]) {
      const node = await startTestClient([`--profile=${profile}`]);
      nodes.push(node);
      for (let block = 0; block < 3; block++) await node.buildBlock();
    }
  });
  afterAll(async () => {
    for (const node of nodes) await node.remove();
  });

  it("checks a block of a running node, in both faces, or a file of it", async () => {
    for (const { httpUrl, rpc } of nodes) {
      const { hash, stateRoot } = await rpc.call<{ hash: string; stateRoot: string }>("eth_getBlockByNumber", ["0x2", false]);
      for (const block of ["2", hash]) {
        const checked = await run(stateless, `--rpc=${httpUrl}`, `--block=${block}`, `--chain=${genesisPath}`);
        expect(checked).toMatchObject({ code: 0, err: "" });
        expect(checked.out).toMatch(
          new RegExp(
            `^block ${hash} state ${stateRoot} gas \\d+ time [\\d.]+ ms\nchecked: 1 transactions executed on \\d+ trie nodes`,
          ),
        );
      }
      const json = (await fetchWitnessFile((method, params) => rpc.call(method, [...params]), "latest", GENESIS.config)) as Record<
        string,
        unknown
      >;
      const file = join(folder, "block.json");
      writeFileSync(file, JSON.stringify(json));
      expect(JSON.parse((await run(stateless, "--json", file)).out)).toMatchObject({ number: 3, valid: true, reason: null });
      writeFileSync(file, JSON.stringify({ ...json, witness: { ...(json.witness as object), state: [] } }));
      const refused = await run(stateless, file);
      expect(refused.code).toBe(1);
      expect(refused.err).toMatch(/block\.json: block 3 0x[0-9a-f]+ is not valid: .*missing/);
    }
  });

  it("says what it was not given", async () => {
    await expect(run(stateless)).rejects.toThrow("give either a file or --rpc=URL");
    await expect(run(stateless, `--rpc=${nodes[0]!.httpUrl}`)).rejects.toThrow(
      `${nodes[0]!.httpUrl}: the node's chain is none of the known networks; say which it is`,
    );
    await expect(run(stateless, `--rpc=${nodes[0]!.httpUrl}`, "--block=77", `--chain=${genesisPath}`)).rejects.toThrow(
      `${nodes[0]!.httpUrl}: the node has no block 0x4d`,
    );
  });
});

describe("rengine init", () => {
  it("reads a genesis from a URL whose connections break, and checks its hash", async () => {
    const expected = await run(init, `--chain=${genesisPath}`, `--datadir=${join(folder, "file")}`);
    const hash = /genesis (0x[0-9a-f]{64})/.exec(expected.out)![1]!;
    const server = await startFlakyServer(() => readFileSync(genesisPath), {
      breaksAfter: (request) => (request < 2 ? 300 : undefined),
    });
    try {
      const chain = `--chain=${server.url}`;
      const wrong = `0x${"12".repeat(32)}`;
      await expect(run(init, chain, `--datadir=${join(folder, "url")}`, `--genesis-hash=${wrong}`)).rejects.toThrow(
        `the genesis file gives block ${hash}, but --genesis-hash says ${wrong}`,
      );
      expect(server.ranges.slice(0, 3)).toEqual([undefined, "bytes=300-", "bytes=600-"]);
      expect((await run(init, chain, `--datadir=${join(folder, "url")}`, `--genesis-hash=${hash}`)).out).toBe(expected.out);
    } finally {
      await server.close();
    }
  });
});
