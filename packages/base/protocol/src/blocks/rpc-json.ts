import {
  CodedError,
  hexToBytes,
  hexToFixedBytes,
  padBytesLeft,
  parseQuantity,
  parseQuantityNumber,
  type Signature,
} from "@rnode/primitives";
import { positionFields } from "../params/exact-fields.ts";
import { decodePostExec } from "../transactions/post-exec.ts";
import type { Log, Receipt } from "../transactions/receipt.ts";
import type { AccessListEntry, Authorization, Transaction } from "../transactions/transaction.ts";
import type { Header, Withdrawal } from "./block.ts";

/** Answers of `eth_` methods, parsed strictly: a missing or malformed field is an error that names it. */
export type RpcJsonErrorCode = "rpc-json/not-an-object" | "rpc-json/bad-field" | "rpc-json/unknown-transaction-type";

type Fields = Readonly<Record<string, unknown>>;

function asFields(json: unknown, what: string): Fields {
  if (typeof json !== "object" || json === null || Array.isArray(json)) {
    throw new CodedError<RpcJsonErrorCode>("rpc-json/not-an-object", { what });
  }
  return json as Fields;
}

function parseField<T>(fields: Fields, name: string, parse: (text: string) => T): T {
  const value = fields[name];
  if (typeof value !== "string") {
    throw new CodedError<RpcJsonErrorCode>("rpc-json/bad-field", { field: name, got: value === null ? "null" : typeof value });
  }
  try {
    return parse(value);
  } catch (cause) {
    throw new CodedError<RpcJsonErrorCode>("rpc-json/bad-field", { field: name }, { cause });
  }
}

const isMissing = (fields: Fields, name: string): boolean => fields[name] === undefined || fields[name] === null;

const bytesOf = (fields: Fields, name: string, length: number): Uint8Array =>
  parseField(fields, name, (text) => hexToFixedBytes(text, length));
const dataOf = (fields: Fields, name: string): Uint8Array => parseField(fields, name, hexToBytes);
const bigintOf = (fields: Fields, name: string): bigint => parseField(fields, name, parseQuantity);
const uint64Of = (fields: Fields, name: string): bigint =>
  parseField(fields, name, (text) => {
    const value = parseQuantity(text);
    if (value >> 64n !== 0n)
      throw new CodedError<RpcJsonErrorCode>("rpc-json/bad-field", { field: name, got: "more than 64 bits" });
    return value;
  });
const numberOf = (fields: Fields, name: string): number => parseField(fields, name, parseQuantityNumber);

function arrayOf<T>(fields: Fields, name: string, parseItem: (item: unknown) => T): readonly T[] {
  const value = fields[name];
  if (!Array.isArray(value)) throw new CodedError<RpcJsonErrorCode>("rpc-json/bad-field", { field: name, got: typeof value });
  return value.map(parseItem);
}

/** The header fields of a block object of `eth_getBlockBy…`. The object's own `hash` is ignored: recompute it. */
export function headerFromRpc(json: unknown): Header {
  const fields = asFields(json, "block");
  const optional = <T>(name: string, parse: (fields: Fields, name: string) => T): T | undefined =>
    isMissing(fields, name) ? undefined : parse(fields, name);
  const hash = (of: Fields, name: string): Uint8Array => bytesOf(of, name, 32);
  const blockAccessListHash = optional("blockAccessListHash", hash);
  const slotNumber = optional("slotNumber", uint64Of);
  if ((blockAccessListHash === undefined) !== (slotNumber === undefined)) {
    const field = slotNumber === undefined ? "slotNumber" : "blockAccessListHash";
    throw new CodedError<RpcJsonErrorCode>("rpc-json/bad-field", { field, got: "one of blockAccessListHash and slotNumber" });
  }
  return {
    parentHash: hash(fields, "parentHash"),
    ommersHash: hash(fields, "sha3Uncles"),
    beneficiary: bytesOf(fields, "miner", 20),
    stateRoot: hash(fields, "stateRoot"),
    transactionsRoot: hash(fields, "transactionsRoot"),
    receiptsRoot: hash(fields, "receiptsRoot"),
    logsBloom: bytesOf(fields, "logsBloom", 256),
    difficulty: isMissing(fields, "difficulty") ? 0n : bigintOf(fields, "difficulty"),
    ...positionFields(uint64Of(fields, "number"), uint64Of(fields, "timestamp")),
    gasLimit: bigintOf(fields, "gasLimit"),
    gasUsed: bigintOf(fields, "gasUsed"),
    extraData: dataOf(fields, "extraData"),
    mixHash: hash(fields, "mixHash"),
    nonce: bytesOf(fields, "nonce", 8),
    baseFeePerGas: optional("baseFeePerGas", bigintOf),
    withdrawalsRoot: optional("withdrawalsRoot", hash),
    blobGasUsed: optional("blobGasUsed", bigintOf),
    excessBlobGas: optional("excessBlobGas", bigintOf),
    parentBeaconBlockRoot: optional("parentBeaconBlockRoot", hash),
    requestsHash: optional("requestsHash", hash),
    ...(blockAccessListHash !== undefined && { blockAccessListHash, slotNumber }),
  };
}

export interface RpcBlock {
  readonly header: Header;
  /** the server's value: 32 bytes, unverified */
  readonly hash: Uint8Array;
  readonly transactions: readonly Transaction[];
  readonly withdrawals: readonly Withdrawal[] | undefined;
}

/** A block object with full transactions. */
export function blockFromRpc(json: unknown): RpcBlock {
  const fields = asFields(json, "block");
  return {
    header: headerFromRpc(fields),
    hash: bytesOf(fields, "hash", 32),
    transactions: arrayOf(fields, "transactions", transactionFromRpc),
    withdrawals: isMissing(fields, "withdrawals") ? undefined : arrayOf(fields, "withdrawals", withdrawalFromRpc),
  };
}

function withdrawalFromRpc(json: unknown): Withdrawal {
  const fields = asFields(json, "withdrawal");
  return {
    index: bigintOf(fields, "index"),
    validatorIndex: bigintOf(fields, "validatorIndex"),
    address: bytesOf(fields, "address", 20),
    amount: bigintOf(fields, "amount"),
  };
}

function accessListFromRpc(fields: Fields): readonly AccessListEntry[] {
  if (isMissing(fields, "accessList")) return [];
  return arrayOf(fields, "accessList", (item) => {
    const entry = asFields(item, "access list entry");
    return {
      address: bytesOf(entry, "address", 20),
      storageKeys: arrayOf(entry, "storageKeys", (key) => hexToFixedBytes(String(key), 32)),
    };
  });
}

function authorizationFromRpc(json: unknown): Authorization {
  const fields = asFields(json, "authorization");
  return {
    chainId: bigintOf(fields, "chainId"),
    address: bytesOf(fields, "address", 20),
    nonce: bigintOf(fields, "nonce"),
    yParity: isMissing(fields, "yParity") ? numberOf(fields, "v") : numberOf(fields, "yParity"),
    r: bigintOf(fields, "r"),
    s: bigintOf(fields, "s"),
  };
}

/** A 32-byte signature word; servers print it as a quantity (leading zeros removed) or in full. */
function signatureWord(fields: Fields, name: string): Uint8Array {
  return parseField(fields, name, (text) => {
    const digits = text.slice(2);
    return padBytesLeft(hexToBytes(digits.length % 2 === 0 ? digits : `0${digits}`), 32);
  });
}

function typedSignature(fields: Fields): Signature {
  const parity = isMissing(fields, "yParity") ? bigintOf(fields, "v") : bigintOf(fields, "yParity");
  if (parity !== 0n && parity !== 1n) throw new CodedError<RpcJsonErrorCode>("rpc-json/bad-field", { field: "yParity" });
  return { r: signatureWord(fields, "r"), s: signatureWord(fields, "s"), yParity: parity === 0n ? 0 : 1 };
}

/** v of a legacy transaction: 27 or 28 without replay protection, 35 + 2·chainId + parity with it (EIP-155). */
function legacySignature(fields: Fields): { chainId: bigint | undefined; signature: Signature } {
  const v = bigintOf(fields, "v");
  const words = { r: signatureWord(fields, "r"), s: signatureWord(fields, "s") };
  if (v === 27n || v === 28n) return { chainId: undefined, signature: { ...words, yParity: v === 27n ? 0 : 1 } };
  if (v < 35n) throw new CodedError<RpcJsonErrorCode>("rpc-json/bad-field", { field: "v", got: v });
  return { chainId: (v - 35n) / 2n, signature: { ...words, yParity: (v - 35n) % 2n === 0n ? 0 : 1 } };
}

/**
 * A full transaction object. Its own `hash` and `from` are ignored, except that a deposit's sender is a field. Of a post-exec transaction
 * only `input` is read.
 *
 * @throws {CodedError} rpc-json/unknown-transaction-type, rpc-json/bad-field
 */
export function transactionFromRpc(json: unknown): Transaction {
  const fields = asFields(json, "transaction");
  const type = isMissing(fields, "type") ? 0 : numberOf(fields, "type");
  if (type === 0x7d) return parseField(fields, "input", (text) => decodePostExec(hexToBytes(text)));
  const common = {
    gasLimit: bigintOf(fields, "gas"),
    to: isMissing(fields, "to") ? undefined : bytesOf(fields, "to", 20),
    value: bigintOf(fields, "value"),
    data: dataOf(fields, "input"),
  };
  if (type === 0x7e) {
    const { isSystemTx } = fields;
    return {
      type,
      ...common,
      sourceHash: bytesOf(fields, "sourceHash", 32),
      from: bytesOf(fields, "from", 20),
      mint: isMissing(fields, "mint") ? 0n : bigintOf(fields, "mint"),
      isSystemTx: isSystemTx === true || isSystemTx === "0x1",
    };
  }
  const signed = { ...common, nonce: bigintOf(fields, "nonce") };
  if (type === 0x00) return { type, ...signed, gasPrice: bigintOf(fields, "gasPrice"), ...legacySignature(fields) };
  const typed = {
    ...signed,
    chainId: bigintOf(fields, "chainId"),
    accessList: accessListFromRpc(fields),
    signature: typedSignature(fields),
  };
  if (type === 0x01) return { type, ...typed, gasPrice: bigintOf(fields, "gasPrice") };
  const dynamic = {
    ...typed,
    maxPriorityFeePerGas: bigintOf(fields, "maxPriorityFeePerGas"),
    maxFeePerGas: bigintOf(fields, "maxFeePerGas"),
  };
  if (type === 0x02) return { type, ...dynamic };
  if (type === 0x03) {
    return {
      type,
      ...dynamic,
      maxFeePerBlobGas: bigintOf(fields, "maxFeePerBlobGas"),
      blobVersionedHashes: arrayOf(fields, "blobVersionedHashes", (hash) => hexToFixedBytes(String(hash), 32)),
    };
  }
  if (type === 0x04) return { type, ...dynamic, authorizationList: arrayOf(fields, "authorizationList", authorizationFromRpc) };
  throw new CodedError<RpcJsonErrorCode>("rpc-json/unknown-transaction-type", { type });
}

export interface RpcLog extends Log {
  readonly blockHash: Uint8Array;
  readonly blockNumber: number;
  readonly transactionHash: Uint8Array;
  readonly transactionIndex: number;
  readonly logIndex: number;
  readonly removed: boolean;
}

/** A receipt and its position in the chain, from JSON-RPC and unverified. */
export interface RpcReceipt {
  readonly receipt: Receipt;
  readonly transactionHash: Uint8Array;
  readonly transactionIndex: number;
  readonly blockHash: Uint8Array;
  readonly blockNumber: number;
  readonly gasUsed: bigint;
  readonly logs: readonly RpcLog[];
}

/** Hashes of a receipt that each of its logs repeats. */
interface PlaceHashes {
  readonly fields: Fields;
  readonly blockHash: Uint8Array;
  readonly transactionHash: Uint8Array;
}

export const logFromRpc = (json: unknown): RpcLog => readLog(json, undefined);

/** @param of PERF: comparing text takes a tenth of the time of parsing it again */
function readLog(json: unknown, of: PlaceHashes | undefined): RpcLog {
  const fields = asFields(json, "log");
  const hash = (name: "blockHash" | "transactionHash"): Uint8Array =>
    of !== undefined && fields[name] === of.fields[name] ? of[name] : bytesOf(fields, name, 32);
  return {
    address: bytesOf(fields, "address", 20),
    topics: arrayOf(fields, "topics", (topic) => hexToFixedBytes(String(topic), 32)),
    data: dataOf(fields, "data"),
    blockHash: hash("blockHash"),
    blockNumber: numberOf(fields, "blockNumber"),
    transactionHash: hash("transactionHash"),
    transactionIndex: numberOf(fields, "transactionIndex"),
    logIndex: numberOf(fields, "logIndex"),
    removed: fields.removed === true,
  };
}

export function receiptFromRpc(json: unknown): RpcReceipt {
  const fields = asFields(json, "receipt");
  const blockHash = bytesOf(fields, "blockHash", 32);
  const transactionHash = bytesOf(fields, "transactionHash", 32);
  const logs = arrayOf(fields, "logs", (log) => readLog(log, { fields, blockHash, transactionHash }));
  const hasStateRoot = isMissing(fields, "status") && !isMissing(fields, "root");
  const status = hasStateRoot ? undefined : numberOf(fields, "status");
  if (status !== undefined && status !== 0 && status !== 1) {
    throw new CodedError<RpcJsonErrorCode>("rpc-json/bad-field", { field: "status", got: status });
  }
  const receipt: Receipt = {
    type: isMissing(fields, "type") ? 0 : numberOf(fields, "type"),
    status,
    ...(hasStateRoot ? { stateRoot: bytesOf(fields, "root", 32) } : {}),
    cumulativeGasUsed: bigintOf(fields, "cumulativeGasUsed"),
    bloom: bytesOf(fields, "logsBloom", 256),
    logs: logs.map(({ address, topics, data }) => ({ address, topics, data })),
    ...(isMissing(fields, "depositNonce") ? {} : { depositNonce: bigintOf(fields, "depositNonce") }),
    ...(isMissing(fields, "depositReceiptVersion") ? {} : { depositReceiptVersion: bigintOf(fields, "depositReceiptVersion") }),
  };
  return {
    receipt,
    transactionHash,
    transactionIndex: numberOf(fields, "transactionIndex"),
    blockHash,
    blockNumber: numberOf(fields, "blockNumber"),
    gasUsed: bigintOf(fields, "gasUsed"),
    logs,
  };
}
