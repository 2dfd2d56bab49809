import { bytesToHex, concatBytes, type Hex, hexToBytes, keccak256, privateKeyToAddress, uint64ToBytes } from "@rnode/primitives";
import {
  BLOB_BYTES,
  CONFIG_UPDATE_TOPIC,
  encodeBlob,
  type L1BlockRef,
  type Log,
  type Receipt,
  signTransaction,
  TRANSACTION_DEPOSITED_TOPIC,
  type Transaction,
} from "@rnode/protocol";
import type { BlobProvider, L1BlockHeader, L1Provider } from "../l1/providers.ts";

export const BATCHER_KEY = new Uint8Array(32).fill(0xb1);
export const BATCHER = privateKeyToAddress(BATCHER_KEY);
export const INBOX = new Uint8Array(20).fill(0xff);
const PORTAL = new Uint8Array(20).fill(0xde);
const SYSTEM_CONFIG = new Uint8Array(20).fill(0x5c);
const L1_CHAIN_ID = 900n;
const L1_BLOCK_TIME = 12;

interface SimBlock {
  readonly header: L1BlockHeader;
  readonly transactions: readonly Transaction[];
  readonly receipts: readonly Receipt[];
}

export interface SimBlockContent {
  readonly transactions?: readonly Transaction[] | undefined;
  readonly logs?: readonly Log[] | undefined;
  /** logs of each transaction, in order; whether it failed */
  readonly transactionLogs?: readonly (readonly Log[])[] | undefined;
  readonly isFailed?: boolean | undefined;
  readonly timestamp?: number | undefined;
}

/** An L1 chain in memory: mines blocks, reorganises and fails on demand. */
export class SimL1 implements L1Provider, BlobProvider {
  readonly #blobs = new Map<Hex, Uint8Array>();
  readonly #byHash = new Map<Hex, SimBlock>();
  #chain: SimBlock[] = [];
  #salt = 0;
  #nonce = 0;
  /** number of calls that will still fail, by method */
  readonly failures: Partial<Record<"blockByNumber" | "blockByHash" | "receipts" | "transactions" | "blobs", number>> = {};
  areBlobsGone = false;
  /** later blocks are hidden from requests by number */
  visibleTo = Number.POSITIVE_INFINITY;

  constructor(firstNumber: number, firstTimestamp: number) {
    this.#append(firstNumber, `0x${"00".repeat(32)}`, firstTimestamp, {});
  }

  get head(): L1BlockHeader {
    return this.#chain.at(-1)!.header;
  }

  /** The blocks from the first one on. */
  get refs(): L1BlockRef[] {
    return this.#chain.map(({ header }) => header);
  }

  mine(content: SimBlockContent = {}): L1BlockHeader {
    const { number, hash, timestamp } = this.head;
    return this.#append(number + 1, hash, content.timestamp ?? timestamp + L1_BLOCK_TIME, content);
  }

  mineEmpty(count: number): void {
    for (let i = 0; i < count; i++) this.mine();
  }

  /** Removes the newest blocks; blocks mined afterwards have other hashes. */
  reorg(depth: number): void {
    for (const { header } of this.#chain.splice(this.#chain.length - depth)) this.#byHash.delete(header.hash);
    this.#salt++;
  }

  #append(number: number, parentHash: Hex, timestamp: number, content: SimBlockContent): L1BlockHeader {
    const seed = concatBytes(hexToBytes(parentHash), uint64ToBytes(number), uint64ToBytes(this.#salt));
    const header: L1BlockHeader = {
      number,
      hash: bytesToHex(keccak256(seed)),
      parentHash,
      timestamp,
      baseFeePerGas: 1_000_000_000n + BigInt(number),
      mixHash: keccak256(seed, Uint8Array.of(1)),
      parentBeaconBlockRoot: keccak256(seed, Uint8Array.of(2)),
      excessBlobGas: 0n,
    };
    const transactions = content.transactions ?? [];
    const receipt = (logs: readonly Log[]): Receipt => receiptOf(logs, content.isFailed === true ? 0 : 1);
    const block = {
      header,
      transactions,
      receipts: [...transactions.map((_, i) => receipt(content.transactionLogs?.[i] ?? [])), receipt(content.logs ?? [])],
    };
    this.#chain.push(block);
    this.#byHash.set(header.hash, block);
    return header;
  }

  calldata(data: Uint8Array, key: Uint8Array = BATCHER_KEY, to: Uint8Array | "create" = INBOX): Transaction {
    return signTransaction({ ...this.#fields(to === "create" ? undefined : to), type: 2, data }, key);
  }

  /** A transaction whose blobs hold `contents`, encoded as the batcher encodes them. */
  blobTransaction(contents: readonly Uint8Array[], key: Uint8Array = BATCHER_KEY, data?: Uint8Array): Transaction {
    return this.rawBlobs(contents.map(encodeBlob), key, data);
  }

  rawBlobs(blobs: readonly Uint8Array[], key: Uint8Array = BATCHER_KEY, data: Uint8Array = new Uint8Array()): Transaction {
    const blobVersionedHashes = blobs.map((blob) => {
      if (blob.length !== BLOB_BYTES) throw new Error("not a blob");
      const hash = keccak256(blob);
      hash[0] = 1;
      this.#blobs.set(bytesToHex(hash), blob);
      return hash;
    });
    const fields = { ...this.#fields(INBOX), type: 3 as const, data, maxFeePerBlobGas: 1n, blobVersionedHashes };
    return signTransaction(fields, key);
  }

  #fields(to: Uint8Array | undefined) {
    const nonce = BigInt(this.#nonce++);
    const fees = { maxFeePerGas: 10n, maxPriorityFeePerGas: 1n };
    return { ...fees, nonce, to, chainId: L1_CHAIN_ID, gasLimit: 100_000n, value: 0n, accessList: [] };
  }

  #failOnDemand(method: keyof SimL1["failures"]): void {
    const left = this.failures[method] ?? 0;
    if (left === 0) return;
    this.failures[method] = left - 1;
    throw new Error(`${method} failed`);
  }

  async blockByNumber(number: number): Promise<L1BlockHeader | undefined> {
    this.#failOnDemand("blockByNumber");
    if (number > this.visibleTo) return undefined;
    return this.#chain.find(({ header }) => header.number === number)?.header;
  }
  async blockByHash(hash: Hex): Promise<L1BlockHeader | undefined> {
    this.#failOnDemand("blockByHash");
    return this.#byHash.get(hash)?.header;
  }
  async receipts(hash: Hex): Promise<readonly Receipt[] | undefined> {
    this.#failOnDemand("receipts");
    return this.#byHash.get(hash)?.receipts;
  }
  async transactions(hash: Hex): Promise<readonly Transaction[] | undefined> {
    this.#failOnDemand("transactions");
    return this.#byHash.get(hash)?.transactions;
  }
  async blobs(block: L1BlockRef, ids: Parameters<BlobProvider["blobs"]>[1]): Promise<readonly Uint8Array[] | undefined> {
    this.#failOnDemand("blobs");
    if (this.areBlobsGone) return undefined;
    // The index is the position among all blobs of the block.
    const hashes = this.#byHash.get(block.hash)!.transactions.flatMap((tx) => (tx.type === 3 ? tx.blobVersionedHashes : []));
    return ids.map(({ index, versionedHash }) => {
      if (bytesToHex(hashes[index]!) !== bytesToHex(versionedHash)) throw new Error(`blob ${index} has another hash`);
      return this.#blobs.get(bytesToHex(versionedHash))!;
    });
  }
}

const word = (value: bigint | number): Uint8Array => hexToBytes(BigInt(value).toString(16).padStart(64, "0"));
const left = (bytes: Uint8Array): Uint8Array => concatBytes(new Uint8Array(32 - bytes.length), bytes);

export function depositLog(from: Uint8Array, to: Uint8Array, mint: bigint, calldata = new Uint8Array(32)): Log {
  const opaque = concatBytes(word(mint), word(mint), uint64ToBytes(100_000), Uint8Array.of(0), calldata);
  const padding = new Uint8Array((32 - (opaque.length % 32)) % 32);
  return {
    address: PORTAL,
    topics: [TRANSACTION_DEPOSITED_TOPIC, left(from), left(to), new Uint8Array(32)],
    data: concatBytes(word(32), word(opaque.length), opaque, padding),
  };
}

export const receiptOf = (logs: readonly Log[], status: 0 | 1 = 1): Receipt => ({
  type: 2,
  status,
  cumulativeGasUsed: 0n,
  bloom: new Uint8Array(256),
  logs,
});

export function configUpdateLog(type: number, payload: Uint8Array): Log {
  return {
    address: SYSTEM_CONFIG,
    topics: [CONFIG_UPDATE_TOPIC, new Uint8Array(32), word(type)],
    data: concatBytes(word(32), word(32), left(payload)),
  };
}
