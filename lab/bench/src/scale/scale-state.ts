import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  closeSync,
  constants,
  copyFileSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { GenesisState, initGenesis, sealGenesis } from "@rnode/chain";
import {
  type Block,
  blockToPayload,
  decodeBlockPrefix,
  hashHeader,
  parseChainConfig,
  parseGenesisHead,
  payloadToJson,
} from "@rnode/protocol";
import { openChainStore } from "@rnode/storage";
import type { ScalePlan } from "../import/import-chains.ts";
import { buildBlocks, CHAIN_CONFIG, GENESIS_HEADER_JSON } from "../import/import-generate.ts";

export interface ScaleState {
  readonly plan: ScalePlan;
  /** whose `chaindata` has the genesis only */
  readonly genesisFolder: string;
  readonly genesisFile: string;
  readonly blocksFile: string;
  readonly blocks: readonly Block[];
  /** `undefined`: from an earlier run */
  readonly made: { readonly stateMs: number; readonly blocksMs: number; readonly peakRssBytes: number } | undefined;
}

/**
 * Writes the state directly into a database, and builds blocks on a copy of it. The genesis file has no accounts, but the
 * database has its hash as genesis.
 */
export async function makeScaleState(plan: ScalePlan, folder: string): Promise<ScaleState> {
  const genesisFile = join(folder, "genesis.json");
  const blocksFile = join(folder, "blocks.rlp");
  const genesisFolder = join(folder, "genesis");
  const description = join(folder, "scale.json");
  const text = JSON.stringify({ accounts: plan.accounts, blocks: plan.blocks });
  if (existsSync(description) && readFileSync(description, "utf8") === text) {
    return { plan, genesisFolder, genesisFile, blocksFile, blocks: readBlocks(blocksFile), made: undefined };
  }
  rmSync(genesisFolder, { recursive: true, force: true });
  writeFileSync(genesisFile, JSON.stringify({ config: CHAIN_CONFIG, ...GENESIS_HEADER_JSON, alloc: {} }));
  const startMs = performance.now();
  let peakRssBytes = 0;
  const look = (): void => void (peakRssBytes = Math.max(peakRssBytes, process.memoryUsage.rss()));
  await withStore(join(genesisFolder, "chaindata"), (store) => {
    const state = new GenesisState({ folder });
    plan.fill(state);
    look();
    const { header } = parseGenesisHead({ ...GENESIS_HEADER_JSON, config: CHAIN_CONFIG });
    const sealed = sealGenesis(header, parseChainConfig(CHAIN_CONFIG), state);
    look();
    initGenesis(store, sealed);
    store.writeMeta("genesis-source", createHash("sha256").update(readFileSync(genesisFile)).digest());
    look();
    state.close();
  });
  const stateMs = performance.now() - startMs;
  const building = join(folder, "building");
  copyFolder(genesisFolder, building);
  await buildBlocks(plan, join(building, "chaindata"), blocksFile);
  rmSync(building, { recursive: true, force: true });
  const blocksMs = performance.now() - startMs - stateMs;
  const blocks = readBlocks(blocksFile);
  writeFileSync(description, text);
  return { plan, genesisFolder, genesisFile, blocksFile, blocks, made: { stateMs, blocksMs, peakRssBytes } };
}

async function withStore(folder: string, use: (store: ReturnType<typeof openChainStore>) => void): Promise<void> {
  const store = openChainStore(folder, { sync: "interval" });
  try {
    use(store);
  } finally {
    await store.close();
  }
}

function readBlocks(file: string): Block[] {
  const bytes = readFileSync(file);
  const blocks: Block[] = [];
  for (let at = 0; at < bytes.length; ) {
    const { block, end } = decodeBlockPrefix(bytes, at);
    blocks.push(block);
    at = end;
  }
  return blocks;
}

export const payloadOf = (block: Block): object =>
  payloadToJson(blockToPayload(block, hashHeader(block.header), false).executionPayload);

/** Copies a closed data folder. */
export function copyFolder(from: string, to: string): void {
  mkdirSync(join(to, "chaindata"), { recursive: true });
  copyFileSync(join(from, "chaindata/data.mdb"), join(to, "chaindata/data.mdb"), constants.COPYFILE_FICLONE);
}

/** Makes the system forget the pages of a data folder's file. @returns whether it can */
export function dropFromMemory(datadir: string): boolean {
  const file = join(datadir, "chaindata/data.mdb");
  const descriptor = openSync(file, "r+");
  fsyncSync(descriptor);
  closeSync(descriptor);
  try {
    execFileSync("dd", [`of=${file}`, "oflag=nocache", "conv=notrunc,fdatasync", "count=0"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}
