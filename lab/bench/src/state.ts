import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";
import { GenesisState, sealGenesis } from "@rnode/chain";
import type { AccountChange } from "@rnode/evm";
import { EMPTY_KECCAK, EMPTY_TRIE_ROOT, keccak256 } from "@rnode/primitives";
import { hashHeader, parseChainConfig, parseGenesis } from "@rnode/protocol";
import { headerOf } from "@rnode/protocol/testing";
import { type BlockCommit, type ChainDatabase, openChainStore } from "@rnode/storage";
import { createProof, type TrieNodeReader, updateStateTrie } from "@rnode/trie";
import { benchOptions } from "./bench-options.ts";
import { HISTORY_TABLES } from "./common/history-tables.ts";
import { processUsage } from "./common/process-usage.ts";
import { transfers } from "./import/import-chains.ts";
import { writeGenesisFile } from "./import/import-generate.ts";
import { measureOldReads } from "./scale/state-old-reads.ts";

/** `npm run bench -- state`: trie and database, on a state of considerable size in a temporary folder. */

const ACCOUNTS = 200_000;
/** of the large genesis */
const MANY_ACCOUNTS = 1_000_000;
/** of one contract */
const SLOTS = 100_000;
const READS = 200_000;
/**
 * An epoch of the trie node history (packages/execution/storage/src/nodes/node-tables.ts), so each size includes its own index.
 */
const BLOCKS_PER_SIZE = 32;
const BLOCK_SIZES = [
  { name: "10 accounts, 10 slots", accounts: 10, slots: 10 },
  { name: "150 accounts, 300 slots", accounts: 150, slots: 300 },
  { name: "1000 accounts, 1000 slots", accounts: 1000, slots: 1000 },
] as const;

interface Row {
  readonly what: string;
  readonly value: string;
}

const number32 = (value: number): Uint8Array => {
  const bytes = new Uint8Array(32);
  new DataView(bytes.buffer).setUint32(28, value);
  return bytes;
};
export const ADDRESSES = Array.from({ length: ACCOUNTS }, (_, i) => keccak256(number32(i)).subarray(12));
export const CONTRACT = new Uint8Array(20).fill(0xcc);
export const SLOT_KEYS = Array.from({ length: SLOTS }, (_, i) => keccak256(number32(i), number32(1)));

/** Blocks whose history is measured: its size, and the time of proofs of old blocks. */
const HISTORY_BLOCKS = 512;
const HISTORY_BLOCK = { accounts: 300, slots: 300 };
const PROOF_DISTANCES = [0, 10, 60, 130, 250, 490] as const;

const NOTHING: TrieNodeReader = { readNode: () => undefined };

function nowMs(): number {
  return performance.now();
}

function payment(address: Uint8Array, balance: number): AccountChange {
  const after = { nonce: 1n, balance: BigInt(balance), codeHash: EMPTY_KECCAK };
  return { address, before: undefined, after, storageCleared: false, storage: [] };
}

export function makeCommit(store: ChainDatabase, accounts: readonly AccountChange[]): BlockCommit {
  const head = store.head();
  const view = head && store.stateAt(head.number);
  const parentHash = head === undefined ? new Uint8Array(32) : store.readCanonicalHash(head.number)!;
  const parentRoot = head === undefined ? EMPTY_TRIE_ROOT : store.readHeader(parentHash)!.stateRoot;
  const nodes = head === undefined ? NOTHING : store.trieNodesAt(head.number)!;
  const update = updateStateTrie(nodes, parentRoot, accounts, (address) => view?.readAccount(address)?.storageRoot);
  const { block, hash } = blockOf(parentHash, head === undefined ? 0 : head.number + 1, update.stateRoot);
  const changes = { accounts, codes: [] };
  return { block, hash, receipts: [], senders: [], changes, storageRoots: update.storageRoots, nodes: update.nodes };
}

function blockOf(parentHash: Uint8Array, number: number, stateRoot: Uint8Array) {
  const header = headerOf({ parentHash, beneficiary: CONTRACT, stateRoot, number });
  return { block: { header, transactions: [], ommers: [] }, hash: hashHeader(header) };
}

/** The changes of the `turn`-th block of a size: different accounts and slots each time, spread over the whole state. */
export function blockChanges(turn: number, accounts: number, slots: number): AccountChange[] {
  const changes = Array.from({ length: accounts - 1 }, (_, i) =>
    payment(ADDRESSES[(turn * 100_003 + i * 7919) % ACCOUNTS]!, turn * 31 + i),
  );
  const storage = Array.from({ length: slots }, (_, i) => ({
    slot: SLOT_KEYS[(turn * 50_021 + i * 6007) % SLOTS]!,
    before: new Uint8Array(32),
    after: number32(1 + turn * 1000 + i),
  }));
  changes.push({ ...payment(CONTRACT, turn), storage });
  return changes;
}

function perSecond(count: number, ms: number): string {
  return `${Math.round(count / ms)} thousand a second`;
}

function measureReads(store: ChainDatabase, blockNumber: number, name: string): Row[] {
  const view = store.stateAt(blockNumber)!;
  const time = (read: (i: number) => void): number => {
    const start = nowMs();
    for (let i = 0; i < READS; i++) read(i);
    return nowMs() - start;
  };
  const accountMs = time((i) => view.readAccount(ADDRESSES[(i * 7919) % ACCOUNTS]!));
  const slotMs = time((i) => view.readStorage(CONTRACT, SLOT_KEYS[(i * 6007) % SLOTS]!));
  return [
    { what: `${name}: accounts read`, value: perSecond(READS, accountMs) },
    { what: `${name}: slots read`, value: perSecond(READS, slotMs) },
  ];
}

function measureBlocks(store: ChainDatabase, sync: "each" | "interval"): Row[] {
  return BLOCK_SIZES.map(({ name, accounts, slots }, sizeIndex) => {
    let trieMs = 0;
    let commitMs = 0;
    let nodes = 0;
    for (let turn = 0; turn < BLOCKS_PER_SIZE; turn++) {
      const changes = blockChanges(turn + sizeIndex * 1000 + (sync === "each" ? 0 : 500), accounts, slots);
      const start = nowMs();
      const commit = makeCommit(store, changes);
      const made = nowMs();
      store.commitBlock(commit);
      commitMs += nowMs() - made;
      trieMs += made - start;
      nodes += commit.nodes.length;
    }
    const each = (ms: number): string => (ms / BLOCKS_PER_SIZE).toFixed(1);
    const value = `state root ${each(trieMs)} ms (${Math.round(nodes / BLOCKS_PER_SIZE)} nodes), commit ${each(commitMs)} ms`;
    return { what: `block of ${name}, sync "${sync}"`, value };
  });
}

/** Uses a real genesis file if test data is available, otherwise one of the same size. */
function measureGenesis(folder: string): Row[] {
  const vectors = process.env.RNODE_VECTORS ?? join(import.meta.dirname, "../../../../shared/vectors");
  const file = join(vectors, "genesis/mainnet-ink.json.gz");
  const store = openChainStore(folder);
  try {
    if (!existsSync(file)) {
      const start = nowMs();
      store.writeGenesis(
        makeCommit(
          store,
          Array.from({ length: 2300 }, (_, i) => payment(ADDRESSES[i]!, i + 1)),
        ),
      );
      return [{ what: "genesis of 2300 accounts, made up", value: `${Math.round(nowMs() - start)} ms` }];
    }
    const start = nowMs();
    const json = JSON.parse(gunzipSync(readFileSync(file)).toString()) as Record<string, unknown>;
    const config = { chainId: 57_073, londonBlock: 0, bedrockBlock: 0, optimism: { eip1559Elasticity: 6, eip1559Denominator: 50 } };
    const { header, alloc } = parseGenesis({ ...json, config });
    const { block, hash, state } = sealGenesis(header, parseChainConfig(config), GenesisState.of(alloc));
    const made = nowMs();
    store.writeLargeGenesis(block, hash, (rows) => state.rowsInto(rows));
    const value = `${Math.round(nowMs() - start)} ms, of it ${Math.round(nowMs() - made)} ms to write`;
    return [{ what: `genesis of ${alloc.length} accounts with their code (mainnet-ink)`, value }];
  } finally {
    void store.close();
  }
}

const RENGINE = fileURLToPath(new URL("../../../programs/rengine/bin/rengine.js", import.meta.url));
const LOOK_INTERVAL_MS = 50;

/** Runs `rengine init` on a file, as a user would. */
async function measureLargeInit(folder: string): Promise<Row> {
  const file = join(folder, "large.json");
  writeGenesisFile(file, transfers(MANY_ACCOUNTS, 0, 0).alloc());
  const start = nowMs();
  const child = spawn(process.execPath, [RENGINE, "init", `--chain=${file}`, `--datadir=${join(folder, "large")}`], {
    stdio: "ignore",
  });
  let peakBytes = 0;
  let cpuSec = 0;
  const look = setInterval(() => {
    const usage = processUsage(child.pid!);
    peakBytes = Math.max(peakBytes, usage?.rssBytes ?? 0);
    cpuSec = Math.max(cpuSec, usage?.cpuSec ?? 0);
  }, LOOK_INTERVAL_MS);
  const [code] = (await once(child, "close")) as [number | null];
  clearInterval(look);
  if (code !== 0) throw new Error(`rengine init ended with ${code}`);
  const value = `${((nowMs() - start) / 1000).toFixed(1)} s (CPU ${cpuSec.toFixed(1)} s), at most ${Math.round(peakBytes / 2 ** 20)} MiB resident`;
  rmSync(join(folder, "large"), { recursive: true });
  rmSync(file);
  return { what: `rengine init, ${MANY_ACCOUNTS} accounts`, value };
}

/** A genesis of all accounts and slots. */
export function writeManyAccounts(store: ChainDatabase): void {
  const state = new GenesisState();
  const plain = { nonce: 1n, code: new Uint8Array(0), storage: [] };
  for (const [i, address] of ADDRESSES.entries()) state.add({ ...plain, address, balance: BigInt(i + 1) });
  const storage = SLOT_KEYS.map((slot, i) => ({ slot, value: number32(i + 1) }));
  state.add({ ...plain, address: CONTRACT, balance: 1n, storage });
  const { block, hash } = blockOf(new Uint8Array(32), 0, state.seal(CONTRACT).stateRoot);
  store.writeLargeGenesis(block, hash, (genesisRows) => state.rowsInto(genesisRows));
}

/** Proofs of accounts and slots anywhere; CPU time of one. */
export async function measureProofs(store: ChainDatabase, distance: number, count = 200): Promise<Row> {
  const number = store.head()!.number - distance;
  const nodes = store.trieNodesAt(number)!;
  const { stateRoot } = store.readHeader(store.readCanonicalHash(number)!)!;
  const { storageRoot } = store.stateAt(number)!.readAccount(CONTRACT)!;
  const owner = keccak256(CONTRACT);
  const measured = async (prove: (i: number) => unknown): Promise<string> => {
    const start = process.cpuUsage();
    for (let i = 0; i < count; i++) {
      prove(i);
      await Promise.resolve(); // the cache of one synchronous run must not serve the next proof
    }
    const { user, system } = process.cpuUsage(start);
    return `${((user + system) / 1000 / count).toFixed(2)} ms`;
  };
  const account = await measured((i) => createProof(nodes, undefined, stateRoot, keccak256(ADDRESSES[i * 331]!)));
  const slot = await measured((i) => createProof(nodes, owner, storageRoot, keccak256(SLOT_KEYS[i * 331]!)));
  return { what: `proof of an account, of a slot, ${distance} blocks back`, value: `${account}, ${slot}` };
}

/** The size of the history, and the time of its proofs. */
async function measureHistory(store: ChainDatabase): Promise<Row[]> {
  const sizeOf = (name: string): number => store.storageStats().tables[name]!.sizeBytes;
  const before = HISTORY_TABLES.map(sizeOf);
  const { accounts, slots } = HISTORY_BLOCK;
  for (let turn = 0; turn < HISTORY_BLOCKS; turn++) {
    store.commitBlock(makeCommit(store, blockChanges(5000 + turn, accounts, slots)));
  }
  const keys = HISTORY_BLOCKS * (accounts + slots);
  const sizes = HISTORY_TABLES.map((name, i) => (sizeOf(name) - before[i]!) / keys);
  const total = sizes.reduce((sum, size) => sum + size, 0);
  const parts = HISTORY_TABLES.map((name, i) => `${name} ${Math.round(sizes[i]!)}`).join(", ");
  const rows: Row[] = [{ what: "history, bytes a changed key", value: `${Math.round(total)}: ${parts}` }];
  for (const distance of PROOF_DISTANCES) rows.push(await measureProofs(store, distance));
  return rows;
}

function measureOldBlocks(store: ChainDatabase): Row[] {
  const head = store.head()!.number;
  const rows = [...measureReads(store, head, "head"), ...measureReads(store, head - 60, "60 blocks ago")];
  let start = nowMs();
  store.reorganize(head - 10, []);
  rows.push({ what: "unwinding 10 blocks of 1000 accounts, 1000 slots", value: `${Math.round(nowMs() - start)} ms` });
  start = nowMs();
  const { accounts, slots, problems } = store.verifyState();
  if (problems.length > 0) throw new Error(`the database is wrong: ${problems.join("; ")}`);
  rows.push({ what: `verifying ${accounts} accounts, ${slots} slots`, value: `${((nowMs() - start) / 1000).toFixed(1)} s` });
  return rows;
}

async function measureAll(folder: string): Promise<Row[]> {
  const rows = [
    { what: "load average before", value: loadavg()[0]!.toFixed(1) },
    ...measureGenesis(join(folder, "genesis")),
    await measureLargeInit(folder),
  ];
  const chainFolder = join(folder, "chain");
  let store = openChainStore(chainFolder);
  const start = nowMs();
  writeManyAccounts(store);
  rows.push({ what: `genesis of ${ACCOUNTS} accounts, ${SLOTS} slots`, value: `${((nowMs() - start) / 1000).toFixed(1)} s` });
  for (let turn = 1; turn < BLOCKS_PER_SIZE; turn++) store.commitBlock(makeCommit(store, blockChanges(turn, 2, 1)));
  rows.push(...measureBlocks(store, "each"));
  await store.close();
  store = openChainStore(chainFolder, { sync: "interval" });
  rows.push(...measureBlocks(store, "interval"));
  rows.push(...measureOldBlocks(store), ...(await measureHistory(store)));
  rows.push(...(await measureOldReads(join(folder, "hot"), makeCommit)));
  const { fileBytes, freeBytes } = store.storageStats();
  rows.push({ what: "database", value: `${Math.round(fileBytes / 1e6)} MB, ${Math.round(freeBytes / 1e6)} MB of it free` });
  await store.close();
  return rows;
}

/** Prints the table. @throws if the written data does not verify */
export async function run(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "rnode-bench-state-"));
  try {
    const rows = await measureAll(folder);
    const width = Math.max(...rows.map(({ what }) => what.length));
    for (const { what, value } of rows) console.log(`${what.padEnd(width)}  ${value}`);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** @returns the exit code */
export async function main(args: readonly string[]): Promise<number> {
  benchOptions("state", args, {});
  await run();
  return 0;
}
