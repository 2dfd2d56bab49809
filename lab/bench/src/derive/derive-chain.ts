import { type DerivationConfig, type L1Provider, type L2Provider, prepareAttributes } from "@rnode/derivation";
import { bytesToHex, type Hex, hexToBytes, keccak256, ZERO_HASH } from "@rnode/primitives";
import {
  type ExecutionPayload,
  extraDataFromAttributes,
  isDepositTransaction,
  type L2BlockRef,
  l2BlockRefFromPayload,
  type PayloadAttributes,
  type RollupConfig,
  type SystemConfig,
  systemConfigFromPayload,
} from "@rnode/protocol";
import {
  type BatchForm,
  batchesOf,
  headerOf,
  L1_BLOB_SCHEDULE,
  L1_BLOCK_TIME_SEC,
  type L1Block,
  L1Builder,
  L2_BLOCK_TIME_SEC,
  rollupConfig,
} from "./batches-on-l1.ts";

/** An L1 with the batches of an L2 chain that was never executed: its blocks have numbers instead of hashes. */
export interface DerivableChain {
  readonly l1: readonly L1Block[];
  readonly blocks: number;
  /** bytes of calldata on L1 */
  readonly batchBytes: number;
  /** of all transactions in order, including deposits: the expected result of derivation */
  readonly digest: Hex;
}

type Described = Pick<
  ExecutionPayload,
  "blockHash" | "blockNumber" | "parentHash" | "timestamp" | "gasLimit" | "transactions" | "extraData"
>;

const NO_PARAMS = new Uint8Array(8);

/** The block of attributes, with a number instead of its hash. */
function describeBlock({ chainOpConfig }: RollupConfig, parent: L2BlockRef, attributes: PayloadAttributes): Described {
  const { eip1559DenominatorCanyon: denominator, eip1559Elasticity: elasticity } = chainOpConfig;
  const { timestamp, gasLimit = 0n, transactions = [], eip1559Params = NO_PARAMS, minBaseFee } = attributes;
  const extraData = extraDataFromAttributes(eip1559Params, { denominator, elasticity }, minBaseFee);
  const blockNumber = parent.number + 1;
  return {
    blockHash: l2Hash(blockNumber),
    blockNumber,
    parentHash: hexToBytes(parent.hash),
    timestamp,
    gasLimit,
    transactions,
    extraData,
  };
}

function l2Hash(number: number): Uint8Array {
  const hash = new Uint8Array(32).fill(0x2a);
  new DataView(hash.buffer).setUint32(28, number);
  return hash;
}

/** The L2 chain for derivation: only the head, with the data of its attributes. */
export class UnexecutedL2 implements L2Provider {
  head: L2BlockRef;
  readonly #rollup: RollupConfig;
  #systemConfig: SystemConfig;

  constructor(rollup: RollupConfig) {
    const { l1, l2, l2TimeSec, systemConfig } = rollup.genesis;
    this.#rollup = rollup;
    this.#systemConfig = systemConfig;
    this.head = { ...l2, parentHash: bytesToHex(ZERO_HASH), timestamp: l2TimeSec, l1Origin: l1, sequenceNumber: 0 };
  }

  extend(attributes: PayloadAttributes): Described {
    const block = describeBlock(this.#rollup, this.head, attributes);
    this.head = l2BlockRefFromPayload(this.#rollup, block);
    this.#systemConfig = systemConfigFromPayload(this.#rollup, block);
    return block;
  }

  async systemConfigByHash(hash: Hex): Promise<SystemConfig | undefined> {
    return hash === this.head.hash ? this.#systemConfig : undefined;
  }

  async blockRefByNumber(number: number): Promise<L2BlockRef | undefined> {
    return number === this.head.number ? this.head : undefined;
  }

  async blockRefByHash(hash: Hex): Promise<L2BlockRef | undefined> {
    return hash === this.head.hash ? this.head : undefined;
  }

  async payloadByNumber(): Promise<undefined> {
    return undefined;
  }
}

/** L1 blocks in memory, with counted requests. */
export class CountedL1 implements L1Provider {
  calls = 0;
  /** different requests: a block with its transactions is one, its receipts another */
  readonly requests = new Set<string>();
  readonly #byHash = new Map<Hex, L1Block>();
  readonly #blocks: readonly L1Block[];

  constructor(blocks: readonly L1Block[]) {
    this.#blocks = blocks;
    for (const block of blocks) this.#byHash.set(block.hash, block);
  }

  async blockByNumber(number: number) {
    return this.#blockAsked(this.#blocks[number]);
  }

  async blockByHash(hash: Hex) {
    return this.#blockAsked(this.#byHash.get(hash));
  }

  async receipts(hash: Hex) {
    this.#count(`receipts ${hash}`);
    return this.#byHash.get(hash)?.receipts;
  }

  async transactions(hash: Hex) {
    this.#count(`block ${hash}`);
    return this.#byHash.get(hash)?.transactions;
  }

  #blockAsked(block: L1Block | undefined) {
    this.#count(`block ${block?.hash}`);
    return block && headerOf(block);
  }

  #count(request: string): void {
    this.calls++;
    this.requests.add(request);
  }
}

/** The configuration of a chain on the given L1. */
export function derivationConfig(l1Genesis: L1Block): DerivationConfig {
  return { rollup: rollupConfig(l2Hash(0), l1Genesis), l1BlobSchedule: L1_BLOB_SCHEDULE };
}

/** Hashes the transactions of blocks, deposits included. */
export class ChainDigest {
  #hash: Uint8Array = ZERO_HASH;

  add({ timestamp, transactions = [] }: Pick<PayloadAttributes, "timestamp" | "transactions">): void {
    this.#hash = keccak256(this.#hash, Uint8Array.of(...new Uint8Array(Float64Array.of(timestamp).buffer)), ...transactions);
  }

  get value(): Hex {
    return bytesToHex(this.#hash);
  }
}

/** Builds blocks from the given transactions, and publishes them in channels of `blocksPerChannel`. */
export async function publishUnexecuted(
  transactions: readonly (readonly Uint8Array[])[],
  blocksPerChannel: number,
  form: BatchForm,
): Promise<DerivableChain> {
  const l1 = new L1Builder();
  const config = derivationConfig(l1.head);
  const { rollup } = config;
  const l2 = new UnexecutedL2(rollup);
  const digest = new ChainDigest();
  const receipts = async () => l1.head.receipts;
  const origin = async () => headerOf(l1.head);
  const providers = { l1: { blockByHash: origin, blockByNumber: origin, receipts, transactions: async () => [] }, l2 };
  let waiting: Described[] = [];
  const build = async () => {
    const pulled = await prepareAttributes(config, providers, l2.head, { hash: l1.head.hash, number: l1.head.header.number });
    if (pulled.kind !== "value") throw new Error(JSON.stringify(pulled));
    const deposits = pulled.value.transactions ?? [];
    if (!deposits.every(isDepositTransaction)) throw new Error("attributes without a batch have deposits only");
    const attributes = { ...pulled.value, transactions: [...deposits, ...transactions[l2.head.number]!] };
    digest.add(attributes);
    waiting.push(l2.extend(attributes));
  };
  while (l2.head.number < transactions.length) {
    const untilSec = l1.head.header.timestamp + L1_BLOCK_TIME_SEC;
    while (l2.head.number < transactions.length && l2.head.timestamp + L2_BLOCK_TIME_SEC < untilSec) await build();
    const isDue = waiting.length >= blocksPerChannel || l2.head.number === transactions.length;
    l1.mine(isDue ? await batchesOf(rollup, waiting, form) : []);
    if (isDue) waiting = [];
  }
  return { l1: l1.blocks, blocks: l2.head.number, batchBytes: l1.batchBytes, digest: digest.value };
}
