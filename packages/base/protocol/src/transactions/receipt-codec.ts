import {
  CodedError,
  decodeRlp,
  EMPTY_BYTES,
  expectRlpList,
  expectRlpString,
  expectRlpUint,
  isCodedError,
  keccak256,
  type RlpItem,
  RlpWriter,
} from "@rnode/primitives";
import type { Log, Receipt } from "./receipt.ts";
import { isKnownTransactionType } from "./transaction.ts";

export type ReceiptErrorCode = "receipt/empty" | "receipt/unknown-type" | "receipt/malformed";

export const BLOOM_BYTES = 256;

const writer = new RlpWriter();

/**
 * EIP-2718 encoding of a receipt.
 *
 * "root": the form for the receipts root, where a deposit's nonce appears only together with its version (from Canyon).
 * "network": the form of devp2p and databases, where a deposit's nonce may also appear without a version (Regolith). Spec:
 * docs/protocol/01-execution.md#receipts
 */
export function encodeReceipt(receipt: Receipt, form: "root" | "network" = "root"): Uint8Array {
  writer.start();
  writeReceipt(receipt, form);
  return writer.take();
}

/** The encodings for the receipts root, as views of one buffer. */
export function encodeReceipts(receipts: readonly Receipt[]): Uint8Array[] {
  writer.start();
  const sizes: number[] = [];
  for (let i = receipts.length - 1; i >= 0; i--) {
    writeReceipt(receipts[i]!, "root");
    sizes.push(writer.size);
  }
  const all = writer.take();
  return receipts.map((_, index) =>
    all.subarray(all.length - sizes[receipts.length - 1 - index]!, all.length - (sizes[receipts.length - 2 - index] ?? 0)),
  );
}

function writeReceipt(receipt: Receipt, form: "root" | "network"): void {
  const { type, status, depositNonce, depositReceiptVersion } = receipt;
  const end = writer.size;
  if (depositReceiptVersion !== undefined) {
    writer.uint(depositReceiptVersion);
    writer.uint(depositNonce ?? 0n);
  } else if (form === "network" && depositNonce !== undefined) {
    writer.uint(depositNonce);
  }
  writeLogs(writer, receipt.logs);
  writer.string(receipt.bloom);
  writer.uint(receipt.cumulativeGasUsed);
  if (status === undefined) writer.string(receipt.stateRoot ?? EMPTY_BYTES);
  else writer.uint(status);
  writer.list(end);
  if (type !== 0) writer.byte(type);
}

/** Writes the list of the logs' [address, topics, data]. */
export function writeLogs(rlp: RlpWriter, logs: readonly Log[]): void {
  const end = rlp.size;
  for (let i = logs.length - 1; i >= 0; i--) {
    const { address, topics, data } = logs[i]!;
    const logEnd = rlp.size;
    rlp.string(data);
    const topicsEnd = rlp.size;
    for (let j = topics.length - 1; j >= 0; j--) rlp.string(topics[j]!);
    rlp.list(topicsEnd);
    rlp.string(address);
    rlp.list(logEnd);
  }
  rlp.list(end);
}

/**
 * Decodes either form of `encodeReceipt`. Byte fields are views into `encoded`.
 *
 * @throws {CodedError} receipt/*
 */
export function decodeReceipt(encoded: Uint8Array): Receipt {
  const first = encoded[0];
  if (first === undefined) throw new CodedError<ReceiptErrorCode>("receipt/empty");
  const type = first >= 0xc0 ? 0 : first;
  if (!isKnownTransactionType(type)) throw new CodedError<ReceiptErrorCode>("receipt/unknown-type", { type });
  try {
    return receiptFromRlp(type, decodeRlp(first >= 0xc0 ? encoded : encoded.subarray(1)));
  } catch (error) {
    if (isCodedError(error, "rlp/")) {
      throw new CodedError<ReceiptErrorCode>("receipt/malformed", { reason: error.message }, { cause: error });
    }
    throw error;
  }
}

function receiptFromRlp(type: number, item: RlpItem): Receipt {
  const items = expectRlpList(item, 4, type === 0x7e ? 6 : 4);
  const outcome = expectRlpString(items[0]);
  const isStateRoot = type === 0 && outcome.length === 32;
  if (!isStateRoot && (outcome.length > 1 || (outcome[0] ?? 1) !== 1)) {
    throw new CodedError<ReceiptErrorCode>("receipt/malformed", { reason: "status" });
  }
  const receipt: Receipt = {
    type,
    status: isStateRoot ? undefined : outcome.length === 1 ? 1 : 0,
    cumulativeGasUsed: expectRlpUint(items[1], 8),
    bloom: expectRlpString(items[2], BLOOM_BYTES),
    logs: expectRlpList(items[3]).map(decodeLog),
  };
  return {
    ...receipt,
    ...(isStateRoot && { stateRoot: outcome }),
    ...(items.length > 4 && { depositNonce: expectRlpUint(items[4], 8) }),
    ...(items.length > 5 && { depositReceiptVersion: expectRlpUint(items[5], 8) }),
  };
}

function decodeLog(item: RlpItem): Log {
  const [address, topics, data] = expectRlpList(item, 3, 3);
  return {
    address: expectRlpString(address, 20),
    topics: expectRlpList(topics).map((topic) => expectRlpString(topic, 32)),
    data: expectRlpString(data),
  };
}

/** A cache of bloom bits by value. A new value replaces the entry at its index. PERF: logs repeat the same tokens and users. */
const KNOWN_BITS = 12;
const KNOWN = 2 ** KNOWN_BITS;
const VALUE_BYTES = 32;
/** 160 kB */
const knownValues = new Uint8Array(KNOWN * VALUE_BYTES);
const knownSizes = new Uint8Array(KNOWN);
/** three per value; the last entry is for uncached values */
const knownBits = new Uint16Array((KNOWN + 1) * 3);

/** @returns the position in `knownBits` of the value's three bits (an address or topic), valid until the next call */
function bitsOf(value: Uint8Array): number {
  const size = value.length;
  let place = KNOWN;
  if (size >= 4 && size <= VALUE_BYTES) {
    // PERF: the last bytes tell addresses and topics apart; mixing all bytes took a fifth of the time of a block's blooms.
    const last = value[size - 1]! | (value[size - 2]! << 8) | (value[size - 3]! << 16) | (value[size - 4]! << 24);
    place = Math.imul(last, 0x9e3779b1) >>> (32 - KNOWN_BITS);
    if (isKnown(place, value)) return place * 3;
    knownValues.set(value, place * VALUE_BYTES);
    knownSizes[place] = size;
  }
  const hash = keccak256(value);
  const at = place * 3;
  for (let i = 0; i < 3; i++) knownBits[at + i] = ((hash[2 * i]! << 8) | hash[2 * i + 1]!) & 0x7ff;
  return at;
}

function isKnown(place: number, value: Uint8Array): boolean {
  if (knownSizes[place] !== value.length) return false;
  const at = place * VALUE_BYTES;
  for (let i = value.length - 1; i >= 0; i--) if (knownValues[at + i] !== value[i]) return false;
  return true;
}

function setBits(bloom: Uint8Array, bits: number): void {
  for (let i = bits; i < bits + 3; i++) {
    const bit = knownBits[i]!;
    bloom[BLOOM_BYTES - 1 - (bit >> 3)]! |= 1 << (bit & 7);
  }
}

/** Sets the three bits of `value` (an address or topic) in a 256-byte bloom. */
export function addToBloom(bloom: Uint8Array, value: Uint8Array): void {
  setBits(bloom, bitsOf(value));
}

/** Whether `value` (an address or topic) may be in the bloom. */
export function bloomMayContain(bloom: Uint8Array, value: Uint8Array): boolean {
  const bits = bitsOf(value);
  for (let i = bits; i < bits + 3; i++) {
    const bit = knownBits[i]!;
    if ((bloom[BLOOM_BYTES - 1 - (bit >> 3)]! & (1 << (bit & 7))) === 0) return false;
  }
  return true;
}

/** PERF: most receipts have this bloom; they share one array, which must not be written to. */
const EMPTY_BLOOM = new Uint8Array(BLOOM_BYTES);

/** The 256-byte bloom of the addresses and topics of `logs`; must not be written to. */
export function logsBloom(logs: readonly Log[]): Uint8Array {
  return logs.length === 0 ? EMPTY_BLOOM : new BlockBloom().add(logs);
}

/** Blooms allocated at once. PERF: an off-heap allocation costs as much as filling a bloom. */
const SLAB_BLOOMS = 32;

/** Computes the blooms of a block's receipts one by one, and their union, the bloom of the block. */
export class BlockBloom {
  readonly #block = new Uint8Array(BLOOM_BYTES);
  #slab = EMPTY_BLOOM;
  #used = BLOOM_BYTES;

  /** The bloom of the next receipt; must not be written to. */
  add(logs: readonly Log[]): Uint8Array {
    if (logs.length === 0) return EMPTY_BLOOM;
    const bloom = this.#next();
    for (const { address, topics } of logs) {
      this.#addValue(bloom, address);
      for (let i = 0; i < topics.length; i++) this.#addValue(bloom, topics[i]!);
    }
    return bloom;
  }

  #addValue(bloom: Uint8Array, value: Uint8Array): void {
    const bits = bitsOf(value);
    setBits(bloom, bits);
    setBits(this.#block, bits);
  }

  #next(): Uint8Array {
    if (this.#used === this.#slab.length) {
      // A single receipt needs no slab.
      this.#slab = new Uint8Array((this.#slab === EMPTY_BLOOM ? 1 : SLAB_BLOOMS) * BLOOM_BYTES);
      this.#used = 0;
    }
    const bloom = this.#slab.subarray(this.#used, this.#used + BLOOM_BYTES);
    this.#used += BLOOM_BYTES;
    return bloom;
  }

  /** The bloom of everything added so far. */
  union(): Uint8Array {
    return this.#block.slice();
  }
}

/** The union of blooms: a header's bloom from those of its receipts. */
export function mergeBlooms(blooms: Iterable<Uint8Array>): Uint8Array {
  const merged = new Uint8Array(BLOOM_BYTES);
  for (const bloom of blooms) {
    if (bloom === EMPTY_BLOOM) continue;
    for (let i = 0; i < BLOOM_BYTES; i++) merged[i]! |= bloom[i]!;
  }
  return merged;
}
