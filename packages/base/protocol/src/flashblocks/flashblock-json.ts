import { bytesToHex, type Hex, toQuantity } from "@rnode/primitives";
import {
  type JsonParser,
  jsonAddress,
  jsonArray,
  jsonBytes,
  jsonError,
  jsonHash,
  jsonInteger,
  jsonObject,
  jsonQuantity64,
  jsonQuantity256,
  jsonQuantityNumber,
  optionalField,
  requiredField,
} from "../params/json-fields.ts";
import type { Receipt } from "../transactions/receipt.ts";
import {
  type Flashblock,
  type FlashblockBase,
  type FlashblockDiff,
  type FlashblockMetadata,
  MAX_FLASHBLOCKS,
} from "./flashblock.ts";

/** Limit for the text of a message. A part of 10 MB of call data has twice as many hex digits. */
export const MAX_FLASHBLOCK_CHARACTERS = 24 * 1024 * 1024;
/** Limit for the values of a message; a value costs up to a hundred bytes of memory. */
const MAX_VALUES = 500_000;
const MAX_EXTRA_DATA_BYTES = 32;

export function encodeFlashblock({ payloadId, index, base, diff, blockNumber }: Flashblock, metadata: FlashblockMetadata): string {
  const part = JSON.stringify({
    payload_id: payloadId,
    index,
    ...(base !== undefined && { base: baseToJson(base) }),
    diff: diffToJson(diff),
  });
  const balances = objectText(metadata.balances, (wei) => `"${toQuantity(wei)}"`);
  const receipts = objectText(metadata.receipts, (receipt) => JSON.stringify(receiptToJson(receipt)));
  return `${part.slice(0, -1)},"metadata":{"block_number":${blockNumber},"new_account_balances":${balances},"receipts":${receipts}}}`;
}

/** PERF: V8 takes several microseconds for a key of an object that has thousands of them. */
function objectText<T>(entries: ReadonlyMap<Hex, T>, textOf: (value: T) => string): string {
  let text = "";
  for (const [key, value] of entries) text += `${text === "" ? "" : ","}"${key}":${textOf(value)}`;
  return `{${text}}`;
}

/**
 * Reads the text of a message. Unknown keys and all metadata except for the block number are ignored, because they differ between streams.
 *
 * @throws {CodedError} json/invalid
 */
export function decodeFlashblock(text: string): Flashblock {
  if (text.length > MAX_FLASHBLOCK_CHARACTERS)
    throw jsonError("message", text.length, `at most ${MAX_FLASHBLOCK_CHARACTERS} characters`);
  // PERF: a few values take as many bytes as many small ones; the parser would allocate all of them
  if (hasMoreValuesThan(text, MAX_VALUES)) throw jsonError("message", "more", `at most ${MAX_VALUES} values`);
  const message = jsonObject(parsed(text), "message");
  const index = requiredField(message, "", "index", jsonInteger);
  if (index >= MAX_FLASHBLOCKS) throw jsonError("index", index, `an index below ${MAX_FLASHBLOCKS}`);
  const base = optionalField(message, "", "base", baseFromJson);
  if (index === 0 && base === undefined) throw jsonError("base", undefined, "an object in the first part of a block");
  if (index !== 0 && base !== undefined) throw jsonError("base", {}, `no base in part ${index}`);
  const blockNumber = requiredField(requiredField(message, "", "metadata", jsonObject), "metadata", "block_number", jsonInteger);
  if (base !== undefined && base.blockNumber !== blockNumber)
    throw jsonError("metadata.block_number", blockNumber, `${base.blockNumber}, the number in base`);
  return {
    payloadId: bytesToHex(requiredField(message, "", "payload_id", jsonBytes(8))),
    index,
    base,
    diff: requiredField(message, "", "diff", diffFromJson),
    blockNumber,
  };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw jsonError("message", text, "JSON");
  }
}

/** Counts what may begin a value, in strings as well. */
function hasMoreValuesThan(text: string, limit: number): boolean {
  if (text.length <= limit) return false;
  let count = 0;
  for (const mark of ["[", "{", ","]) {
    for (let at = text.indexOf(mark); at !== -1; at = text.indexOf(mark, at + 1)) if (++count > limit) return true;
  }
  return false;
}

const baseToJson = (base: FlashblockBase) => ({
  parent_beacon_block_root: bytesToHex(base.parentBeaconBlockRoot),
  parent_hash: bytesToHex(base.parentHash),
  fee_recipient: bytesToHex(base.feeRecipient),
  prev_randao: bytesToHex(base.prevRandao),
  block_number: toQuantity(base.blockNumber),
  gas_limit: toQuantity(base.gasLimit),
  timestamp: toQuantity(base.timestamp),
  extra_data: bytesToHex(base.extraData),
  base_fee_per_gas: toQuantity(base.baseFeePerGas),
});

const extraData: JsonParser<Uint8Array> = (value, key) => {
  const bytes = jsonBytes()(value, key);
  if (bytes.length > MAX_EXTRA_DATA_BYTES) throw jsonError(key, value, `at most ${MAX_EXTRA_DATA_BYTES} bytes`);
  return bytes;
};

const baseFromJson: JsonParser<FlashblockBase> = (value, path) => {
  const base = jsonObject(value, path);
  return {
    parentBeaconBlockRoot: requiredField(base, path, "parent_beacon_block_root", jsonHash),
    parentHash: requiredField(base, path, "parent_hash", jsonHash),
    feeRecipient: requiredField(base, path, "fee_recipient", jsonAddress),
    prevRandao: requiredField(base, path, "prev_randao", jsonHash),
    blockNumber: requiredField(base, path, "block_number", jsonQuantityNumber),
    gasLimit: requiredField(base, path, "gas_limit", jsonQuantity64),
    timestamp: requiredField(base, path, "timestamp", jsonQuantityNumber),
    extraData: requiredField(base, path, "extra_data", extraData),
    baseFeePerGas: requiredField(base, path, "base_fee_per_gas", jsonQuantity256),
  };
};

const diffToJson = (diff: FlashblockDiff) => ({
  state_root: bytesToHex(diff.stateRoot),
  receipts_root: bytesToHex(diff.receiptsRoot),
  logs_bloom: bytesToHex(diff.logsBloom),
  gas_used: toQuantity(diff.gasUsed),
  block_hash: bytesToHex(diff.blockHash),
  transactions: diff.transactions.map(bytesToHex),
  withdrawals: [],
  withdrawals_root: bytesToHex(diff.withdrawalsRoot),
  ...(diff.blobGasUsed !== undefined && { blob_gas_used: toQuantity(diff.blobGasUsed) }),
  ...(diff.postExecTx !== undefined && { post_exec_tx: bytesToHex(diff.postExecTx) }),
});

const noWithdrawals: JsonParser<undefined> = (value, key) => {
  if (!Array.isArray(value) || value.length > 0) throw jsonError(key, value, "an empty array");
};

const diffFromJson: JsonParser<FlashblockDiff> = (value, path) => {
  const diff = jsonObject(value, path);
  optionalField(diff, path, "withdrawals", noWithdrawals);
  return {
    stateRoot: requiredField(diff, path, "state_root", jsonHash),
    receiptsRoot: requiredField(diff, path, "receipts_root", jsonHash),
    logsBloom: requiredField(diff, path, "logs_bloom", jsonBytes(256)),
    gasUsed: requiredField(diff, path, "gas_used", jsonQuantity64),
    blockHash: requiredField(diff, path, "block_hash", jsonHash),
    transactions: requiredField(diff, path, "transactions", jsonArray(jsonBytes())),
    withdrawalsRoot: requiredField(diff, path, "withdrawals_root", jsonHash),
    blobGasUsed: optionalField(diff, path, "blob_gas_used", jsonQuantity64),
    postExecTx: optionalField(diff, path, "post_exec_tx", jsonBytes()),
  };
};

/** A receipt with its type as a key of its own. */
function receiptToJson({ type, status, cumulativeGasUsed, logs, depositNonce, depositReceiptVersion }: Receipt): object {
  const optional = (name: string, value: bigint | undefined): Record<string, Hex> =>
    value === undefined ? {} : { [name]: toQuantity(value) };
  return {
    type: toQuantity(type),
    status: toQuantity(status ?? 0),
    cumulativeGasUsed: toQuantity(cumulativeGasUsed),
    logs: logs.map((log) => ({ address: bytesToHex(log.address), topics: log.topics.map(bytesToHex), data: bytesToHex(log.data) })),
    ...optional("depositNonce", depositNonce),
    ...optional("depositReceiptVersion", depositReceiptVersion),
  };
}
