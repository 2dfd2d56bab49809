import {
  CodedError,
  decodeRlp,
  expectRlpList,
  expectRlpString,
  expectRlpUint,
  isCodedError,
  type RlpItem,
} from "@rnode/primitives";
import type { Log, Receipt } from "./receipt.ts";
import { BLOOM_BYTES, decodeReceipt, logsBloom, type ReceiptErrorCode } from "./receipt-codec.ts";

export interface ForeignReceipt {
  readonly receipt: Receipt;
  /** whether this version knows the encoding: `encodeReceipt` gives the same bytes */
  readonly isKnown: boolean;
}

const MAX_TOPICS = 4;
const NO_FIELDS: readonly RlpItem[] = [];

/**
 * Decodes a receipt of L1, also one of an unknown type or with more fields, because derivation needs its logs by address and
 * topic.
 *
 * The first four fields of all known receipts are [status, cumulative gas used, bloom, logs]. If a receipt has other fields, each
 * list of [20-byte address, up to four 32-byte topics, bytes] is a log, in the order of the encoding, and the receipt counts as
 * successful, because only a successful transaction has logs. The bloom of the block's header shows whether all logs were found.
 *
 * @throws {CodedError} receipt/empty, receipt/malformed: it is not RLP
 */
export function decodeForeignReceipt(encoded: Uint8Array): ForeignReceipt {
  try {
    return { receipt: decodeReceipt(encoded), isKnown: true };
  } catch (error) {
    if (!isCodedError(error, "receipt/unknown-type") && !isCodedError(error, "receipt/malformed")) throw error;
  }
  try {
    return { receipt: foreignReceipt(encoded), isKnown: false };
  } catch (error) {
    if (!isCodedError(error, "rlp/")) throw error;
    throw new CodedError<ReceiptErrorCode>("receipt/malformed", { reason: error.message }, { cause: error });
  }
}

function foreignReceipt(encoded: Uint8Array): Receipt {
  const first = encoded[0]!;
  const isTyped = first < 0x80;
  const item = decodeRlp(isTyped ? encoded.subarray(1) : encoded);
  const fields = expectRlpList(item);
  const type = isTyped ? first : 0;
  const usual = usualFields(fields);
  if (usual !== undefined) return { type, ...usual };
  const logs: Log[] = [];
  collectLogs(item, logs);
  return { type, status: 1, cumulativeGasUsed: 0n, bloom: logsBloom(logs), logs };
}

/** The fields of all known receipts; `undefined` if the receipt has others. */
function usualFields([outcome, gas, bloom, listed]: readonly RlpItem[]): Omit<Receipt, "type"> | undefined {
  try {
    const status = expectRlpUint(outcome, 1);
    if (status > 1n) return undefined;
    const cumulativeGasUsed = expectRlpUint(gas, 8);
    const entries = expectRlpList(listed);
    const logs = entries.map(logOf).filter((log) => log !== undefined);
    if (logs.length < entries.length) return undefined;
    return { status: status === 1n ? 1 : 0, cumulativeGasUsed, bloom: expectRlpString(bloom, BLOOM_BYTES), logs };
  } catch (error) {
    if (!isCodedError(error, "rlp/")) throw error;
    return undefined;
  }
}

function collectLogs(item: RlpItem, into: Log[]): void {
  if (item instanceof Uint8Array) return;
  const log = logOf(item);
  if (log !== undefined) into.push(log);
  else for (const inner of item) collectLogs(inner, into);
}

function logOf(item: RlpItem): Log | undefined {
  const [address, topics, data] = item instanceof Uint8Array || item.length !== 3 ? NO_FIELDS : item;
  if (!(address instanceof Uint8Array) || address.length !== 20 || !(data instanceof Uint8Array)) return undefined;
  if (topics === undefined || topics instanceof Uint8Array || topics.length > MAX_TOPICS) return undefined;
  const words = topics.filter((topic) => topic instanceof Uint8Array && topic.length === 32) as Uint8Array[];
  return words.length === topics.length ? { address, topics: words, data } : undefined;
}
