import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { compressUsingDict, createCCtx } from "@bokuweb/zstd-wasm";
import { sealGenesis } from "@rnode/chain";
import { bytesToHex } from "@rnode/primitives";
import { type Network, networkByName } from "@rnode/protocol";
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { importBlocks } from "../commands/import.ts";
import { init } from "../commands/init.ts";
import { createSnapshotFile } from "../commands/snapshot-create.ts";
import { restoreFromSnapshot } from "../commands/snapshot-restore.ts";
import { verifySnapshotFile } from "../commands/snapshot-verify.ts";
import { DICTIONARY } from "../testing/zstd-dictionary.ts";
import { type ChainSpec, genesisOfSpec, loadChainSpec } from "./chain-spec.ts";
import { openGenesisFile } from "./genesis-file.ts";
import type { GenesisFetch } from "./published-genesis.ts";
import { zstdReady } from "./zstd.ts";

const address = (i: number): string => `0x${i.toString(16).padStart(40, "0")}`;
const alloc = Object.fromEntries(
  Array.from({ length: 3000 }, (_, i) => [address(i + 1), { balance: `0x${(i * 7919).toString(16)}` }]),
);
const TEXT = JSON.stringify({ config: { chainId: 1337, homesteadBlock: 0 }, gasLimit: "0x1c9c380", alloc });
const GENESIS_PATH = "/superchain/extra/genesis/sepolia/op.json.zst";
const DICTIONARY_PATH = "/superchain/extra/dictionary";

let packed: Uint8Array;
let network: Network;
let spec: ChainSpec;
let folder: string;
let files: Record<string, Uint8Array>;
let asked: string[];
let server: Server;
/** what is done instead of an answer; true: it was */
let fault: ((path: string, nth: number) => number | "stall" | undefined) | undefined;

beforeAll(async () => {
  await zstdReady();
  packed = compressUsingDict(createCCtx(), Buffer.from(TEXT), DICTIONARY, 3);
  const folder = mkdtempSync(join(tmpdir(), "rengine-published-"));
  writeFileSync(join(folder, "a.json"), TEXT);
  const file = await openGenesisFile(join(folder, "a.json"));
  const sealed = sealGenesis(file.head.header, file.head.config!, await file.readState());
  sealed.state.close();
  rmSync(folder, { recursive: true });
  const op = networkByName("op-sepolia")!;
  network = { ...op, genesis: { ...op.genesis, l2: { number: 0, hash: bytesToHex(sealed.hash) } } };
  spec = { chain: "op-sepolia", config: file.head.config!, genesis: undefined, network };
});
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "rengine-published-"));
  files = { [GENESIS_PATH]: packed, [DICTIONARY_PATH]: DICTIONARY };
  asked = [];
  fault = undefined;
  server = createServer(({ url = "", headers: { range } }, response) => {
    asked.push(`${url}${range === undefined ? "" : ` ${range}`}`);
    const body = files[url];
    const from = Number(/^bytes=(\d+)-$/.exec(range ?? "")?.[1] ?? 0);
    const limit = fault?.(url, asked.length);
    if (body === undefined) return void response.writeHead(404).end();
    if (limit === "stall") return;
    response.writeHead(from > 0 ? 206 : 200, {
      "content-length": body.length - from,
      ...(from > 0 ? { "content-range": `bytes ${from}-${body.length - 1}/${body.length}` } : {}),
    });
    const sent = body.subarray(from);
    if (limit === undefined || limit >= sent.length) response.end(sent);
    else response.write(sent.subarray(0, limit), () => response.destroy());
  });
  await listen(0);
});
afterEach(async () => {
  await stop();
});
const listen = (port: number): Promise<void> => new Promise((resolve) => server.listen(port, "127.0.0.1", resolve));
const portOf = (): number => (server.address() as AddressInfo).port;
async function stop(): Promise<void> {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
}

const fetchFrom = (registry: string, more: Partial<GenesisFetch> = {}): GenesisFetch => ({
  datadir: folder,
  registry,
  offline: false,
  onProgress: () => {},
  onRetry: () => {},
  ...more,
});
const mirror = (more: Partial<GenesisFetch> = {}): GenesisFetch => fetchFrom(`http://127.0.0.1:${portOf()}`, more);
async function stateOf(fetch: GenesisFetch): Promise<string> {
  const sealed = await genesisOfSpec(spec, undefined, fetch);
  sealed.state.close();
  return bytesToHex(sealed.hash);
}
const flipped = (bytes: Uint8Array, at = bytes.length >> 1): Uint8Array => {
  const copy = new Uint8Array(bytes);
  copy[at]! ^= 1;
  return copy;
};

describe("the genesis of a network", () => {
  it("comes from a mirror, and once", async () => {
    const progress = vi.fn();
    expect(await stateOf(mirror({ onProgress: progress }))).toBe(network.genesis.l2.hash);
    expect(asked).toEqual([GENESIS_PATH, DICTIONARY_PATH]);
    expect(progress).toHaveBeenCalledWith(expect.stringContaining(GENESIS_PATH), packed.length, packed.length);
    expect(await stateOf(mirror())).toBe(network.genesis.l2.hash);
    expect(asked.length).toBe(2);
  });

  it("comes from a folder, also with --offline", async () => {
    for (const [path, bytes] of Object.entries(files)) {
      mkdirSync(dirname(join(folder, "mirror", path)), { recursive: true });
      writeFileSync(join(folder, "mirror", path), bytes);
    }
    expect(await stateOf(fetchFrom(join(folder, "mirror"), { offline: true }))).toBe(network.genesis.l2.hash);
  });

  it("comes from a mirror that is killed in the midst and started again, from the byte where it was", async () => {
    const port = portOf();
    fault = (_, nth) => (nth === 1 ? 1000 : undefined);
    const onRetry = vi.fn(() => {
      if (onRetry.mock.calls.length === 1) void stop().then(() => setTimeout(() => void listen(port), 200));
    });
    expect(await stateOf(mirror({ onRetry }))).toBe(network.genesis.l2.hash);
    expect(asked[1]).toMatch(/op\.json\.zst bytes=[1-9]\d*-$/);
  });

  it.each([
    ["genesis", "op.json.zst", undefined],
    ["genesis, in its header,", "op.json.zst", 6],
    ["dictionary", "dictionary", 4],
  ])("is fetched again where the kept %s is damaged", async (_, name, at) => {
    await stateOf(mirror());
    const kept = join(folder, "genesis", name);
    writeFileSync(kept, flipped(readFileSync(kept), at));
    expect(await stateOf(mirror())).toBe(network.genesis.l2.hash);
    expect(asked.length).toBeGreaterThan(2);
  });

  it.each<[string, () => void, RegExp]>([
    ["is not there", () => delete files[GENESIS_PATH], /op\.json\.zst.*HTTP status 404.*--genesis=FILE\|URL/],
    ["has no dictionary", () => delete files[DICTIONARY_PATH], /superchain\/extra\/dictionary.*HTTP status 404/],
    ["has another dictionary", () => void (files[DICTIONARY_PATH] = flipped(DICTIONARY, 4)), /it is not the dictionary 77/],
    ["is a page", () => void (files[GENESIS_PATH] = Buffer.from("<html>")), /it is no Zstandard data/],
    ["is cut off", () => void (files[GENESIS_PATH] = packed.subarray(0, -20)), /op\.json\.zst: broken Zstandard data/],
    ["is empty", () => void (files[GENESIS_PATH] = new Uint8Array()), /it is no Zstandard data/],
  ])("that %s is refused by file, hash and place", async (_, damage, words) => {
    damage();
    const failing = stateOf(mirror());
    await expect(failing).rejects.toThrow(words);
    await expect(failing).rejects.toThrow(`http://127.0.0.1:${portOf()}/superchain/extra/`);
  });

  it("with a flipped bit anywhere is refused, or is the same", { tags: "long" }, async () => {
    for (let at = 4; at < packed.length; at += Math.ceil(packed.length / 25)) {
      files[GENESIS_PATH] = flipped(packed, at);
      rmSync(join(folder, "genesis"), { recursive: true, force: true });
      const outcome = await stateOf(mirror()).catch((error: Error) => error.message);
      if (outcome !== network.genesis.l2.hash) expect(outcome).toContain("/superchain/extra/");
    }
  });

  it("of another chain is refused with both hashes, and nothing of it is kept", async () => {
    const other = Buffer.from(TEXT.replace('"balance":"0x0"', '"balance":"0x1"'));
    files[GENESIS_PATH] = compressUsingDict(createCCtx(), other, DICTIONARY, 3);
    await expect(stateOf(mirror())).rejects.toThrow(
      new RegExp(`gives block 0x[0-9a-f]{64}, but op-sepolia starts with ${network.genesis.l2.hash}`),
    );
    files[GENESIS_PATH] = packed;
    expect(await stateOf(mirror())).toBe(network.genesis.l2.hash);
  });

  it("that another client's state comes before has no file, and the way out is said", async () => {
    const other = {
      ...network,
      name: "op-mainnet",
      genesis: { ...network.genesis, l2: { number: 105_235_063, hash: network.genesis.l2.hash } },
    };
    await expect(genesisOfSpec({ ...spec, network: other }, undefined, mirror())).rejects.toThrow(
      /starts at block 105235063.*rengine snapshot restore/,
    );
    expect(asked).toEqual([]);
  });

  it("is refused by `rengine init` with --registry where the mirror has another chain's", async () => {
    const io = { out: () => {}, err: () => {}, progress: () => {} };
    const args = ["--chain=op-sepolia", `--datadir=${folder}`, `--registry=http://127.0.0.1:${portOf()}`];
    await expect(init(args, {}, io)).rejects.toThrow(/but op-sepolia starts with 0x102de6ff/);
    expect(asked.slice(-2)).toEqual([GENESIS_PATH, DICTIONARY_PATH]);
  });

  it("and its configuration come from the registry for `rengine init`, `import` and `snapshot`, where only the registry has the network", async () => {
    const registry = join(folder, "registry");
    const word = (digit: string): string => `"0x${digit.repeat(64)}"`;
    const files = (genesisHash: string): Record<string, Uint8Array | string> => ({
      "superchain/configs/sepolia/superchain.toml": "[l1]\nchain_id = 11155111\n",
      "superchain/configs/sepolia/mine.toml": `name = "Mine"
chain_id = 1337
block_time = 2
seq_window_size = 3600
max_sequencer_drift = 600
data_availability_type = "eth-da"
batch_inbox_addr = "${address(1)}"
optimism = { eip1559_elasticity = 6, eip1559_denominator = 50, eip1559_denominator_canyon = 250 }
addresses = { OptimismPortalProxy = "${address(2)}", SystemConfigProxy = "${address(3)}" }
hardforks = {}
[genesis]
l2_time = 1
l1 = { hash = ${word("4")}, number = 1 }
l2 = { hash = "${genesisHash}", number = 0 }
system_config = { batcherAddress = "${address(4)}", overhead = ${word("0")}, scalar = ${word("1")}, gasLimit = 30000000 }
`,
      "superchain/extra/genesis/sepolia/mine.json.zst": packed,
      "superchain/extra/dictionary": DICTIONARY,
    });
    const write = (genesisHash: string): void => {
      for (const [path, content] of Object.entries(files(genesisHash))) {
        mkdirSync(dirname(join(registry, path)), { recursive: true });
        writeFileSync(join(registry, path), content);
      }
    };
    write(network.genesis.l2.hash); // that of the same allocations without the rules of an OP Stack chain
    const { config } = await loadChainSpec({ chain: "mine-sepolia", registry });
    const file = await openGenesisFile(join(registry, "superchain/extra/genesis/sepolia/mine.json.zst"));
    const sealed = sealGenesis(file.head.header, config, await file.readState());
    sealed.state.close();
    const hash = bytesToHex(sealed.hash);
    write(hash);
    writeFileSync(join(folder, "none.rlp"), "");
    const out: string[] = [];
    const io = { out: (line: string) => void out.push(line), err: () => {}, progress: () => {} };
    const chain = ["--chain=mine-sepolia", `--registry=${registry}`];
    const at = (name: string): string => `--datadir=${join(folder, name)}`;
    expect(await init([...chain, at("a")], {}, io)).toBe(0);
    expect(await importBlocks([...chain, at("b"), join(folder, "none.rlp")], {}, io)).toBe(0);
    expect(out.filter((line) => line.includes(hash)).length).toBe(2);
    // the network is known: what is wrong comes after it
    const none = join(folder, "none.rlp");
    await expect(createSnapshotFile([...chain, at("a"), join(folder, "x")], {}, io)).rejects.toThrow(
      /block 0: it is the genesis block/,
    );
    await expect(verifySnapshotFile([...chain, none], {}, io)).rejects.toMatchObject({
      code: expect.stringMatching(/^snapshot\//),
    });
    await expect(restoreFromSnapshot([...chain, at("c"), `--from=${none}`, "--trust-snapshot"], {}, io)).rejects.toMatchObject({
      code: expect.stringMatching(/^snapshot\//),
    });
    await expect(verifySnapshotFile(["--chain=mine-sepolia", none], {}, io)).rejects.toThrow("mine-sepolia");
  });
});
