import {
  CodedError,
  concatBytes,
  decodeRlp,
  EMPTY_BYTES,
  encodeRlp,
  expectRlpList,
  expectRlpString,
  expectRlpUint,
  isCodedError,
  keccak256,
  type RlpItem,
  rlpUint,
} from "@rnode/primitives";
import type { Log, Receipt } from "./receipt.ts";

export type ReceiptErrorCode = "receipt/empty" | "receipt/unknown-type" | "receipt/malformed";

export const BLOOM_BYTES = 256;

/**
 * EIP-2718 encoding of a receipt.
 *
 * "root": as it enters the receipts root, where a deposit's nonce appears only together with its version (from Canyon).
 * "network": a deposit's nonce also without a version (Regolith); what devp2p and databases carry. Spec: protocol/01 §4
 */
export function encodeReceipt(receipt: Receipt, form: "root" | "network" = "root"): Uint8Array {
  const fields: RlpItem[] = [
    receipt.status === undefined ? (receipt.stateRoot ?? EMPTY_BYTES) : rlpUint(receipt.status),
    rlpUint(receipt.cumulativeGasUsed),
    receipt.bloom,
    receipt.logs.map(logItem),
  ];
  if (receipt.depositReceiptVersion !== undefined) {
    fields.push(rlpUint(receipt.depositNonce ?? 0n), rlpUint(receipt.depositReceiptVersion));
  } else if (form === "network" && receipt.depositNonce !== undefined) {
    fields.push(rlpUint(receipt.depositNonce));
  }
  const list = encodeRlp(fields);
  return receipt.type === 0 ? list : concatBytes(Uint8Array.of(receipt.type), list);
}

function logItem(log: Log): RlpItem {
  return [log.address, log.topics, log.data];
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
  if (type > 0x04 && type !== 0x7e) throw new CodedError<ReceiptErrorCode>("receipt/unknown-type", { type });
  try {
    return receiptFromRlp(type, decodeRlp(first >= 0xc0 ? encoded : encoded.subarray(1)));
  } catch (error) {
    if (isCodedError(error, "rlp/")) {
      throw new CodedError<ReceiptErrorCode>("receipt/malformed", { reason: error.code }, { cause: error });
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

/** Sets the three bits of `value` (an address or topic) in a 256-byte bloom. */
export function addToBloom(bloom: Uint8Array, value: Uint8Array): void {
  const hash = keccak256(value);
  for (let i = 0; i < 6; i += 2) {
    const bit = ((hash[i]! << 8) | hash[i + 1]!) & 0x7ff;
    bloom[BLOOM_BYTES - 1 - (bit >> 3)]! |= 1 << (bit & 7);
  }
}

/** Whether `value` (an address or topic) may be in the bloom. */
export function bloomMayContain(bloom: Uint8Array, value: Uint8Array): boolean {
  const hash = keccak256(value);
  for (let i = 0; i < 6; i += 2) {
    const bit = ((hash[i]! << 8) | hash[i + 1]!) & 0x7ff;
    if ((bloom[BLOOM_BYTES - 1 - (bit >> 3)]! & (1 << (bit & 7))) === 0) return false;
  }
  return true;
}

/** PERF: of most receipts; one for all of them, which nobody writes into. */
const EMPTY_BLOOM = new Uint8Array(BLOOM_BYTES);

/** The 256-byte bloom of the addresses and topics of `logs`; not to be changed. */
export function logsBloom(logs: readonly Log[]): Uint8Array {
  if (logs.length === 0) return EMPTY_BLOOM;
  const bloom = new Uint8Array(BLOOM_BYTES);
  for (const log of logs) {
    addToBloom(bloom, log.address);
    for (const topic of log.topics) addToBloom(bloom, topic);
  }
  return bloom;
}

/** The union: a header's bloom from those of its receipts. */
export function mergeBlooms(blooms: Iterable<Uint8Array>): Uint8Array {
  const merged = new Uint8Array(BLOOM_BYTES);
  for (const bloom of blooms) {
    if (bloom === EMPTY_BLOOM) continue;
    for (let i = 0; i < BLOOM_BYTES; i++) merged[i]! |= bloom[i]!;
  }
  return merged;
}
