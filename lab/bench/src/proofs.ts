import { mkdtempSync, rmSync } from "node:fs";
import { loadavg, tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { bytesToHex, keccak256 } from "@rnode/primitives";
import { type ChainDatabase, DEFAULT_PROOF_WINDOW_BLOCKS, openChainStore } from "@rnode/storage";
import { readTrie, type TrieNodeReader } from "@rnode/trie";
import { benchOptions } from "./bench-options.ts";
import { HISTORY_TABLES } from "./common/history-tables.ts";
import { ADDRESSES, blockChanges, CONTRACT, makeCommit, measureProofs, SLOT_KEYS, writeManyAccounts } from "./state.ts";

/*
 * `npm run bench -- proofs`: what a long proof window costs, on disk and in time. Dispute games ask for proofs as old as a game is.
 */

const WINDOW_30_DAYS = 1_296_000;
/** with old versions of trie nodes, which only proofs and unwinds need */
const NODE_TABLES = ["nodeHistory", "nodeEpochs"];
const PROOFS = 20;
/** accounts, and as many slots */
const WITNESS_KEYS = 100;

export async function main(args: readonly string[]): Promise<number> {
  const values = benchOptions("proofs", args, {
    blocks: { type: "string", default: "20000", help: "blocks of the chain" },
    changed: { type: "string", default: "10", help: "accounts, and as many slots, that a block changes" },
    folder: { type: "string", help: "kept, instead of a temporary one" },
  });
  const [blocks, changed] = [Number(values.blocks), Number(values.changed)];
  const folder = values.folder === undefined ? mkdtempSync(join(tmpdir(), "rnode-bench-proofs-")) : resolve(values.folder);
  const print = (what: string, value: string): void => console.log(`${what.padEnd(48)}${value}`);
  const proofWindowBlocks = Math.max(blocks, DEFAULT_PROOF_WINDOW_BLOCKS);
  const store = openChainStore(folder, { sync: "interval", proofWindowBlocks });
  try {
    print("load average before", loadavg()[0]!.toFixed(1));
    writeManyAccounts(store);
    const sizeOf = (name: string): number => store.storageStats().tables[name]!.sizeBytes;
    const before = new Map(HISTORY_TABLES.map((name) => [name, sizeOf(name)]));
    const start = performance.now();
    for (let turn = 1; turn <= blocks; turn++) store.commitBlock(makeCommit(store, blockChanges(turn, changed, changed)));
    print("making a block", `${((performance.now() - start) / blocks).toFixed(2)} ms`);
    const grown = (names: readonly string[]): number =>
      names.reduce((sum, name) => sum + sizeOf(name) - (before.get(name) ?? 0), 0) / blocks;
    const report = (what: string, bytes: number): void => {
      const whole = (bytes * WINDOW_30_DAYS) / 1e9;
      print(
        `${what}, bytes a block`,
        `${Math.round(bytes)} (${Math.round(bytes / (2 * changed))} a key), ${whole.toFixed(1)} GB for 30 days`,
      );
    };
    report("old states", grown(HISTORY_TABLES));
    report("of them trie nodes, which the window bounds", grown(NODE_TABLES));
    for (let distance = 10; ; distance *= 10) {
      const back = Math.min(distance, blocks - 1);
      const { what, value } = await measureProofs(store, back, PROOFS);
      print(what, value);
      print(`nodes of ${WITNESS_KEYS} accounts and slots, ${back} blocks back`, measureWitness(store, back));
      if (back < distance) return 0;
    }
  } finally {
    await store.close();
    if (values.folder === undefined) rmSync(folder, { recursive: true, force: true });
  }
}

/** As a witness reads them: each node once. CPU time. */
function measureWitness(store: ChainDatabase, distance: number): string {
  const number = store.head()!.number - distance;
  const nodes = store.trieNodesAt(number)!;
  const { stateRoot } = store.readHeader(store.readCanonicalHash(number)!)!;
  const { storageRoot } = store.stateAt(number)!.readAccount(CONTRACT)!;
  const seen = new Map<string, Uint8Array>();
  const reader: TrieNodeReader = {
    readNode(owner, path, hash) {
      const key = bytesToHex(hash);
      const known = seen.get(key) ?? nodes.readNode(owner, path, hash);
      if (known !== undefined) seen.set(key, known);
      return known;
    },
  };
  const start = process.cpuUsage();
  for (let i = 0; i < WITNESS_KEYS; i++) {
    readTrie(reader, undefined, stateRoot, keccak256(ADDRESSES[(i * 1009) % ADDRESSES.length]!));
    readTrie(reader, keccak256(CONTRACT), storageRoot, keccak256(SLOT_KEYS[(i * 997) % SLOT_KEYS.length]!));
  }
  const { user, system } = process.cpuUsage(start);
  const ms = (user + system) / 1000;
  return `${seen.size} nodes, ${ms.toFixed(0)} ms, ${(ms / seen.size).toFixed(2)} ms a node`;
}
