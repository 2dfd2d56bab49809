import { closeSync, copyFileSync, mkdirSync, openSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { GenesisState, initGenesis, openChain, type PendingTransaction, sealGenesis } from "@rnode/chain";
import { bytesToHex, hexToBytes, isZeroBytes, toQuantity, ZERO_ADDRESS, ZERO_HASH } from "@rnode/primitives";
import {
  encodeBlock,
  encodeTransaction,
  type GenesisAccount,
  hashTransaction,
  parseChainConfig,
  parseGenesisHead,
  signTransaction,
} from "@rnode/protocol";
import { openChainStore } from "@rnode/storage";
import type { BlockPlan, ChainPlan } from "./import-chains.ts";

/** A chain in its own folder. */
export interface GeneratedChain {
  readonly plan: ChainPlan;
  readonly folder: string;
  /** database that only contains the genesis */
  readonly genesisDatabase: string;
  readonly blocksFile: string;
  readonly genesisFile: string;
  /** transactions of each block, raw */
  readonly transactions: readonly (readonly Uint8Array[])[];
  /** of block 1 on */
  readonly gasUsed: readonly number[];
  readonly genesisMs: number;
  /** of everything else: signing and building */
  readonly generationMs: number;
}

export const CHAIN_CONFIG = {
  chainId: 31_337,
  homesteadBlock: 0,
  eip150Block: 0,
  eip155Block: 0,
  eip158Block: 0,
  byzantiumBlock: 0,
  constantinopleBlock: 0,
  petersburgBlock: 0,
  istanbulBlock: 0,
  berlinBlock: 0,
  londonBlock: 0,
  terminalTotalDifficulty: 0,
  terminalTotalDifficultyPassed: true,
  shanghaiTime: 0,
  cancunTime: 0,
  blobSchedule: { cancun: { target: 3, max: 6, baseFeeUpdateFraction: 3_338_477 } },
} as const;

/** Twice the gas of the blocks, so the base fee stays low. */
const GAS_LIMIT = 100_000_000n;
const GENESIS_TIME_SEC = 1_700_000_000;
const BLOCK_TIME_SEC = 12;

export const GENESIS_HEADER_JSON = {
  timestamp: toQuantity(BigInt(GENESIS_TIME_SEC)),
  gasLimit: toQuantity(GAS_LIMIT),
  difficulty: "0x0",
  extraData: "0x",
  baseFeePerGas: "0x3b9aca00",
  nonce: "0x0",
  mixHash: bytesToHex(ZERO_HASH),
  coinbase: bytesToHex(ZERO_ADDRESS),
  number: "0x0",
  gasUsed: "0x0",
  parentHash: bytesToHex(ZERO_HASH),
} as const;

export const timestampOf = (block: number): number => GENESIS_TIME_SEC + block * BLOCK_TIME_SEC;

/** Signs and builds the blocks of a plan, including their state roots. */
export async function generateChain(plan: ChainPlan, folder: string): Promise<GeneratedChain> {
  mkdirSync(folder, { recursive: true });
  const config = parseChainConfig(CHAIN_CONFIG);
  const alloc = plan.alloc();
  const { header } = parseGenesisHead({ ...GENESIS_HEADER_JSON, config: CHAIN_CONFIG });
  const genesisFile = join(folder, "genesis.json");
  writeGenesisFile(genesisFile, alloc);

  const genesisDatabase = join(folder, "genesis");
  const store = openChainStore(genesisDatabase);
  const startMs = performance.now();
  initGenesis(store, sealGenesis(header, config, GenesisState.of(alloc)));
  const genesisMs = performance.now() - startMs;
  await store.close();

  const building = join(folder, "building");
  copyDatabase(genesisDatabase, building);
  const blocksFile = join(folder, "blocks.rlp");
  const { transactions, gasUsed } = await buildBlocks(plan, building, blocksFile);
  const generationMs = performance.now() - startMs - genesisMs;
  return { plan, folder, genesisDatabase, blocksFile, genesisFile, transactions, gasUsed, genesisMs, generationMs };
}

/** Builds the blocks on a database that has the genesis, and writes them to a file as well. */
export async function buildBlocks(
  plan: BlockPlan,
  database: string,
  blocksFile: string,
): Promise<Pick<GeneratedChain, "transactions" | "gasUsed">> {
  const transactions: Uint8Array[][] = [];
  const gasUsed: number[] = [];
  const file = openSync(blocksFile, "w");
  const config = parseChainConfig(CHAIN_CONFIG);
  const chain = openChain({ store: openChainStore(database, { sync: "interval" }), config, nowMs: () => 0 });
  let pending: PendingTransaction[] = [];
  chain.setPendingSource({
    best() {
      let at = -1;
      return { next: () => pending[++at], skipSender: () => undefined };
    },
  });
  for (let block = 0; block < plan.blocks; block++) {
    pending = Array.from({ length: plan.transactionsPerBlock }, (_, index) => signed(plan, block, index));
    const attributes = {
      timestamp: timestampOf(block + 1),
      prevRandao: ZERO_HASH,
      suggestedFeeRecipient: ZERO_ADDRESS,
      withdrawals: [],
      noTxPool: false,
      parentBeaconBlockRoot: ZERO_HASH,
    };
    const started = chain.forkchoiceUpdated(choose(hexToBytes(chain.head().hash)), attributes, 3);
    if (started.kind !== "updated" || started.payloadId === undefined) throw new Error(JSON.stringify(started));
    const { block: built, hash } = chain.getPayload(started.payloadId)!;
    if (built.transactions.length !== plan.transactionsPerBlock) {
      throw new Error(`block ${built.header.number} has ${built.transactions.length} transactions`);
    }
    chain.forkchoiceUpdated(choose(hash), undefined, 3);
    const failed = chain.resolve({ kind: "tag", tag: "latest" })!.receipts.findIndex(({ status }) => status !== 1);
    if (failed >= 0) throw new Error(`transaction ${failed} of block ${built.header.number} failed`);
    writeSync(file, encodeBlock(built));
    transactions.push(pending.map(({ encoded }) => encoded));
    gasUsed.push(Number(built.header.gasUsed));
  }
  closeSync(file);
  await chain.close();
  return { transactions, gasUsed };
}

const choose = (head: Uint8Array) => ({ headBlockHash: head, safeBlockHash: ZERO_HASH, finalizedBlockHash: ZERO_HASH });

function signed(plan: BlockPlan, block: number, index: number): PendingTransaction {
  const { key, sender, fields } = plan.transaction(block, index);
  const transaction = signTransaction(
    {
      type: 0x02 as const,
      chainId: BigInt(CHAIN_CONFIG.chainId),
      maxPriorityFeePerGas: 1n,
      maxFeePerGas: 1_000_000_000_000n,
      accessList: [],
      ...fields,
    },
    key,
  );
  const encoded = encodeTransaction(transaction);
  return { transaction, sender, encoded, hash: hashTransaction(transaction) };
}

/** Copies a closed database. */
export function copyDatabase(from: string, to: string): void {
  mkdirSync(to, { recursive: true });
  copyFileSync(join(from, "data.mdb"), join(to, "data.mdb"));
}

/** Writes a Geth genesis file in pieces, as it may be larger than the longest string. */
export function writeGenesisFile(path: string, alloc: readonly GenesisAccount[]): void {
  const file = openSync(path, "w");
  const write = (text: string): void => void writeSync(file, text);
  const head = JSON.stringify({ config: CHAIN_CONFIG, ...GENESIS_HEADER_JSON });
  write(`${head.slice(0, -1)},"alloc":{`);
  for (const [index, { address, balance, nonce, code, storage }] of alloc.entries()) {
    const fields = { balance: toQuantity(balance), nonce: toQuantity(nonce), ...(code.length > 0 && { code: bytesToHex(code) }) };
    const fieldText = JSON.stringify(fields);
    write(
      `${index === 0 ? "" : ","}"${bytesToHex(address)}":${storage.length === 0 ? fieldText : `${fieldText.slice(0, -1)},"storage":{`}`,
    );
    if (storage.length === 0) continue;
    for (let from = 0; from < storage.length; from += 1000) {
      const part = storage.slice(from, from + 1000).filter(({ value }) => !isZeroBytes(value));
      const text = part.map(({ slot, value }) => `"${bytesToHex(slot)}":"${bytesToHex(value)}"`).join(",");
      write(`${from === 0 ? "" : ","}${text}`);
    }
    write("}}");
  }
  write("}}");
  closeSync(file);
  if (alloc.length === 0) writeFileSync(path, JSON.stringify({ config: CHAIN_CONFIG, ...GENESIS_HEADER_JSON, alloc: {} }));
}
