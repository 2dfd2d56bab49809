import type { Hex } from "@rnode/primitives";
import { bytesToHex, hexToBytes, keccak256, parseQuantityNumber, readRlpSpan } from "@rnode/primitives";
import { hashHeader, headerFromRpc } from "@rnode/protocol";

export type JsonObject = Readonly<Record<string, unknown>>;

/** An endpoint's answers about a block, unchanged. */
export interface RecordedBlock {
  /** of `eth_getBlockByNumber` with whole transactions */
  readonly block: JsonObject;
  /** of `eth_getBlockReceipts`, in the order of the transactions */
  readonly receipts: readonly JsonObject[];
  /** the bytes of a block that its JSON does not determine, because L1 was newer than this version */
  readonly raw?: RawRecording | undefined;
}

export interface RawRecording {
  /** of `debug_getRawBlock` */
  readonly block: Hex;
  /** of `debug_getRawReceipts` */
  readonly receipts: readonly Hex[];
}

/** A beacon node's answers about its chain: the content of `data`. Numbers are decimal strings. */
export interface RecordedBeacon {
  /** of `/eth/v1/beacon/genesis` */
  readonly genesis: JsonObject;
  /** of `/eth/v1/config/spec`; at least SECONDS_PER_SLOT */
  readonly spec: JsonObject;
}

export interface RecordedChain {
  readonly chainId: bigint;
  readonly beacon: RecordedBeacon | undefined;
}

/** The data of a block in memory. */
export interface BlockEntry {
  readonly number: number;
  readonly hash: Hex;
  readonly parentHash: Hex;
  readonly timestampSec: number;
  readonly transactionHashes: readonly Hex[];
  /** versioned hashes of its blobs, in their order */
  readonly blobHashes: readonly Hex[];
}

export interface L1Contents {
  load(number: number): RecordedBlock;
  /** 131,072 bytes; `undefined`: not recorded */
  blob(versionedHash: Hex): Uint8Array | undefined;
}

/** Blocks of an L1, not necessarily consecutive, each found by number, by hash and by its content. */
export class L1Store {
  readonly chain: RecordedChain;
  /** by number, ascending */
  readonly entries: readonly BlockEntry[];
  readonly #contents: L1Contents;
  readonly #byNumber: ReadonlyMap<number, BlockEntry>;
  readonly #byHash: ReadonlyMap<string, BlockEntry>;
  readonly #byTransaction: ReadonlyMap<string, BlockEntry>;

  /** @throws {Error} no blocks, or a block that does not follow the previous one */
  constructor(chain: RecordedChain, entries: readonly BlockEntry[], contents: L1Contents) {
    if (entries.length === 0) throw new Error("there is no block");
    this.chain = chain;
    this.entries = entries.toSorted((a, b) => a.number - b.number);
    this.#contents = contents;
    this.#byNumber = new Map(this.entries.map((entry) => [entry.number, entry]));
    this.#byHash = new Map(this.entries.map((entry) => [entry.hash, entry]));
    this.#byTransaction = new Map(this.entries.flatMap((entry) => entry.transactionHashes.map((hash) => [hash, entry] as const)));
    for (const { number, parentHash } of this.entries) {
      const parent = this.#byNumber.get(number - 1);
      if (parent !== undefined && parent.hash !== parentHash) {
        throw new Error(
          `block ${number} has the parent ${parentHash}, but block ${parent.number} is ${parent.hash}: two branches of L1`,
        );
      }
    }
  }

  /** @param blobs by versioned hash */
  static inMemory(
    chain: RecordedChain,
    blocks: readonly RecordedBlock[],
    blobs: ReadonlyMap<Hex, Uint8Array> = new Map(),
  ): L1Store {
    const entries = blocks.map(entryOf);
    const byNumber = new Map(entries.map(({ number }, index) => [number, blocks[index]!]));
    return new L1Store(chain, entries, { load: (number) => byNumber.get(number)!, blob: (hash) => blobs.get(hash) });
  }

  get first(): BlockEntry {
    return this.entries[0]!;
  }

  get last(): BlockEntry {
    return this.entries.at(-1)!;
  }

  byNumber(number: number): BlockEntry | undefined {
    return this.#byNumber.get(number);
  }

  byHash(hash: string): BlockEntry | undefined {
    return this.#byHash.get(hash.toLowerCase());
  }

  withTransaction(hash: string): BlockEntry | undefined {
    return this.#byTransaction.get(hash.toLowerCase());
  }

  load({ number }: BlockEntry): RecordedBlock {
    return this.#contents.load(number);
  }

  blob(versionedHash: Hex): Uint8Array | undefined {
    return this.#contents.blob(versionedHash);
  }
}

/** @throws {Error} the block does not match its hash, or its receipts do not match its transactions */
export function entryOf({ block, receipts, raw }: RecordedBlock): BlockEntry {
  const header = headerFromRpc(block);
  const hash = bytesToHex(raw === undefined ? hashHeader(header) : keccak256(rawHeaderOf(raw.block)));
  if (hash !== block.hash)
    throw new Error(`block ${header.number} says that its hash is ${String(block.hash)}, but its header has ${hash}`);
  const transactions = block.transactions as readonly JsonObject[];
  if (!Array.isArray(transactions) || transactions.some((each) => typeof each !== "object")) {
    throw new Error(`block ${header.number} has no list of whole transactions`);
  }
  if (!Array.isArray(receipts) || receipts.length !== transactions.length) {
    throw new Error(`block ${header.number} has ${transactions.length} transactions and ${receipts?.length} receipts`);
  }
  return {
    number: header.number,
    hash,
    parentHash: bytesToHex(header.parentHash),
    timestampSec: header.timestamp,
    transactionHashes: transactions.map((each) => each.hash as Hex),
    blobHashes: transactions.flatMap(blobHashesOf),
  };
}

/** The encoded header of an encoded block. @throws {CodedError} rlp/* */
export function rawHeaderOf(block: Hex): Uint8Array {
  const bytes = hexToBytes(block);
  const { dataStart, end } = readRlpSpan(bytes, 0);
  const header = readRlpSpan(bytes, dataStart, end);
  return bytes.subarray(header.start, header.end);
}

/** Versioned hashes of a transaction's blobs. */
export const blobHashesOf = (transaction: JsonObject): readonly Hex[] =>
  (transaction.blobVersionedHashes as readonly Hex[] | null | undefined) ?? [];

/** A block number in hex digits. @returns `undefined`: not a number */
export function numberOf(text: unknown): number | undefined {
  try {
    return parseQuantityNumber(String(text));
  } catch {
    return undefined;
  }
}
