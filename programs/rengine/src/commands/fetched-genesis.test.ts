import { spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { compressUsingDict, createCCtx } from "@bokuweb/zstd-wasm";
import { sealGenesis } from "@rnode/chain";
import { bytesToHex } from "@rnode/primitives";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { loadChainSpec } from "../setup/chain-spec.ts";
import { openGenesisFile } from "../setup/genesis-file.ts";
import { zstdReady } from "../setup/zstd.ts";
import { buildPackage, PROGRAM } from "../testing/built-package.ts";
import { limitedCommand, type ProcessLimits } from "../testing/kill-process.ts";
import { DICTIONARY } from "../testing/zstd-dictionary.ts";

/*
 * The program fetches a genesis from a mirror that sends a decompression bomb, onto a full disk, and next to another process.
 */

/** Only for hangs. */
const TIMEOUT_MS = 300_000;
const GENESIS_PATH = "/superchain/extra/genesis/sepolia/mine.json.zst";
const address = (i: number): string => `0x${i.toString(16).padStart(40, "0")}`;
const word = (digit: string): string => `"0x${digit.repeat(64)}"`;
const TEXT = JSON.stringify({
  gasLimit: "0x1c9c380",
  alloc: Object.fromEntries(Array.from({ length: 3000 }, (_, i) => [address(i + 1), { balance: `0x${(i * 7919).toString(16)}` }])),
});

let folder: string;
let server: Server;
let genesis: Uint8Array;
let served: Uint8Array;
/** between two pieces of an answer */
let pauseMs: number;
let hash: string;
let chain: string[];
const at = (...names: string[]): string => join(folder, ...names);

function writeChain(genesisHash: string): void {
  const configs = at("superchain/configs/sepolia");
  mkdirSync(configs, { recursive: true });
  writeFileSync(join(configs, "superchain.toml"), "[l1]\nchain_id = 11155111\n");
  writeFileSync(
    join(configs, "mine.toml"),
    `name = "Mine"
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
  );
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "rengine-fetched-"));
  buildPackage();
  await zstdReady();
  genesis = compressUsingDict(createCCtx(), Buffer.from(TEXT), DICTIONARY, 3);
  const toml = at("superchain/configs/sepolia/mine.toml");
  writeChain(`0x${"5".repeat(64)}`);
  writeFileSync(at("genesis.json"), TEXT);
  const { config } = await loadChainSpec({ chain: toml });
  const file = await openGenesisFile(at("genesis.json"));
  const sealed = sealGenesis(file.head.header, config, await file.readState());
  sealed.state.close();
  hash = bytesToHex(sealed.hash);
  writeChain(hash);
  server = createServer(({ url = "" }, response) => {
    const body = url === GENESIS_PATH ? served : url.endsWith("/dictionary") ? DICTIONARY : undefined;
    if (body === undefined) return void response.writeHead(404).end();
    response.writeHead(200, { "content-length": body.length });
    const send = (from: number): void => {
      const piece = body.subarray(from, pauseMs === 0 ? body.length : from + 2000);
      if (from + piece.length === body.length) response.end(piece);
      else response.write(piece, () => setTimeout(() => send(from + piece.length), pauseMs));
    };
    send(0);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  chain = [`--chain=${toml}`, `--registry=http://127.0.0.1:${(server.address() as AddressInfo).port}`];
}, TIMEOUT_MS);
afterAll(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});
beforeEach(() => {
  served = genesis;
  pauseMs = 0;
});

interface Ended {
  readonly status: number | null;
  readonly out: string;
  readonly error: string;
}

/** `rengine init` in a process of its own. */
async function init(datadir: string, limits: ProcessLimits = {}): Promise<Ended> {
  const command = [process.execPath, PROGRAM, "init", ...chain, `--datadir=${datadir}`];
  const [file = "", ...rest] = limitedCommand(command, limits);
  const child = spawn(file, rest, { stdio: ["ignore", "pipe", "pipe"] });
  let [out, error] = ["", ""];
  child.stdout.on("data", (data: Buffer) => (out += data.toString()));
  child.stderr.on("data", (data: Buffer) => (error += data.toString()));
  const status = await new Promise<number | null>((resolve) => child.once("close", resolve));
  return { status, out: out.trim(), error: error.trim() };
}

const kept = (datadir: string): string[] => (existsSync(join(datadir, "genesis")) ? readdirSync(join(datadir, "genesis")) : []);

/** One Zstandard frame of blocks that repeat a byte (RFC 8878): 4 bytes for each 128 KiB. @param isStated the frame says how large it gets */
function bomb(mebibytes: number, isStated: boolean): Uint8Array {
  const blocks = mebibytes * 8;
  const bytes = Buffer.alloc(64 + 4 * blocks);
  bytes.writeUInt32LE(0xfd2fb528, 0);
  bytes[4] = isStated ? 0x80 : 0;
  bytes[5] = 0x58; // a window of 2 MiB
  if (isStated) bytes.writeUInt32LE(mebibytes * 2 ** 20, 6);
  let end = isStated ? 10 : 6;
  for (let i = 0; i < blocks; i++, end += 4) {
    bytes.writeUIntLE((131_072 << 3) | (1 << 1) | (i === blocks - 1 ? 1 : 0), end, 3);
    bytes[end + 3] = 0x20; // spaces, which JSON may have any number of
  }
  return bytes.subarray(0, end);
}

describe("a genesis that is fetched", () => {
  it.each([
    ["that says so", 3000, true, /3145728000 bytes when decompressed, at most 536870912/],
    ["that does not say so", 3000, false, /more than 536870912 bytes when decompressed/],
    ["within the bound, with nothing in it", 100, false, /JSON/],
  ])(
    "is refused if it is a bomb %s, is not kept, and a right one is taken afterwards",
    { tags: "long", timeout: TIMEOUT_MS },
    async (_, mebibytes, isStated, words) => {
      served = bomb(mebibytes, isStated);
      expect(served.length).toBeLessThan(100_000);
      const datadir = at(`bomb-${mebibytes}-${isStated}`);
      const ended = await init(datadir);
      expect(ended).toMatchObject({ status: 1, out: "" });
      expect(ended.error.split("\n").at(-1)).toMatch(words);
      served = genesis;
      expect(await init(datadir)).toMatchObject({ status: 0, out: expect.stringContaining(`genesis ${hash}`) });
    },
  );

  it("leaves nothing wrong on a full disk, and is complete once there is room", { tags: "long", timeout: TIMEOUT_MS }, async () => {
    const datadir = at("full");
    const ended = await init(datadir, { maxFileBytes: 8192 });
    expect(ended).toMatchObject({ status: 1, out: "" });
    expect(ended.error.split("\n").at(-1)).toMatch(/mine\.json\.zst.*cannot be had: (EFBIG|ENOSPC)/);
    expect(kept(datadir).filter((name) => !name.endsWith(".part"))).toEqual([]);
    expect(await init(datadir)).toMatchObject({ status: 0, out: expect.stringContaining(`genesis ${hash}`) });
    expect(kept(datadir).sort()).toEqual(["dictionary", "mine.json.zst"]);
  });

  it("is whole for two processes that fetch it into one folder at once", { tags: "long", timeout: TIMEOUT_MS }, async () => {
    pauseMs = 100;
    const datadir = at("two");
    const ended = await Promise.all([init(datadir), init(datadir)]);
    const statuses = ended.map(({ status }) => status);
    expect(statuses).toContain(0);
    for (const { status, out, error } of ended) {
      if (status === 0) expect(out).toContain(`genesis ${hash}`);
      else expect(error).toMatch(/process \d+ has the database in .* open: stop that process/); // it had its files, and came second
    }
    expect(kept(datadir).sort()).toEqual(["dictionary", "mine.json.zst"]);
    expect(readFileSync(join(datadir, "genesis", "mine.json.zst"))).toEqual(Buffer.from(genesis));
    expect(await init(datadir)).toMatchObject({ status: 0, out: expect.stringContaining(`genesis ${hash}`) });
  });
});
