import { bigintToBytes, bytesToBigint, EMPTY_BYTES } from "@rnode/primitives";
import { type ExecutionPayload, type ForkTimes, rollupRulesAt, type Withdrawal } from "@rnode/protocol";
import { WireError } from "./wire-error.ts";

/** V1 before Canyon, V2 from Canyon, V3 from Ecotone, V4 from Isthmus. */
export type PayloadVersion = 1 | 2 | 3 | 4;

/** Bytes of the part with a fixed length, by version. */
const FIXED_BYTES: Readonly<Record<PayloadVersion, number>> = { 1: 508, 2: 512, 3: 528, 4: 560 };
const MAX_EXTRA_DATA_BYTES = 32;
const MAX_TRANSACTIONS = 1 << 20;
const WITHDRAWAL_BYTES = 44;
const MAX_WITHDRAWALS = 16;
const MAX_UINT64 = 0xffff_ffff_ffff_ffffn;
const MAX_UINT32 = 0xffff_ffff;

/** The version that a block of this time is sent in. */
export function payloadVersionAt(forkTimes: ForkTimes, timestampSec: number): PayloadVersion {
  const { hasMessagePasserRoot, hasBlobGas, hasWithdrawals } = rollupRulesAt(forkTimes, timestampSec);
  if (hasMessagePasserRoot) return 4;
  if (hasBlobGas) return 3;
  return hasWithdrawals ? 2 : 1;
}

/**
 * SSZ of an execution payload. Layout: docs/protocol/03-p2p.md#ssz-encodings
 *
 * @param prefixBytes free bytes in front, for the caller to fill
 * @throws {WireError} ssz/wrong-version, ssz/bad-length, ssz/bad-number: the format of this version cannot hold the payload
 */
export function encodePayload(payload: ExecutionPayload, version: PayloadVersion, prefixBytes = 0): Uint8Array {
  assertFields(payload, version);
  const fixed = FIXED_BYTES[version];
  const { extraData, transactions, withdrawals = [] } = payload;
  const transactionsAt = fixed + extraData.length;
  let withdrawalsAt = transactionsAt + 4 * transactions.length;
  for (const transaction of transactions) withdrawalsAt += transaction.length;
  const length = withdrawalsAt + WITHDRAWAL_BYTES * withdrawals.length;
  if (length > MAX_UINT32) throw new WireError("ssz/bad-length", { payload: length });

  const output = new Uint8Array(prefixBytes + length);
  const bytes = output.subarray(prefixBytes);
  const view = new DataView(output.buffer, prefixBytes);
  const fix = (at: number, size: number, value: Uint8Array): void => {
    if (value.length !== size) throw new WireError("ssz/bad-length", { offset: at, expected: size, got: value.length });
    bytes.set(value, at);
  };
  fix(0, 32, payload.parentHash);
  fix(32, 20, payload.feeRecipient);
  fix(52, 32, payload.stateRoot);
  fix(84, 32, payload.receiptsRoot);
  fix(116, 256, payload.logsBloom);
  fix(372, 32, payload.prevRandao);
  writeUint64(view, 404, BigInt(payload.blockNumber));
  writeUint64(view, 412, payload.gasLimit);
  writeUint64(view, 420, payload.gasUsed);
  writeUint64(view, 428, BigInt(payload.timestamp));
  view.setUint32(436, fixed, true);
  writeUint256(bytes, 440, payload.baseFeePerGas);
  fix(472, 32, payload.blockHash);
  view.setUint32(504, transactionsAt, true);
  if (version >= 2) view.setUint32(508, withdrawalsAt, true);
  if (version >= 3) {
    writeUint64(view, 512, payload.blobGasUsed!);
    writeUint64(view, 520, payload.excessBlobGas!);
  }
  if (version >= 4) fix(528, 32, payload.withdrawalsRoot!);

  bytes.set(extraData, fixed);
  let itemAt = 4 * transactions.length;
  for (let i = 0; i < transactions.length; i++) {
    view.setUint32(transactionsAt + 4 * i, itemAt, true);
    bytes.set(transactions[i]!, transactionsAt + itemAt);
    itemAt += transactions[i]!.length;
  }
  let at = withdrawalsAt;
  for (const { index, validatorIndex, address, amount } of withdrawals) {
    writeUint64(view, at, index);
    writeUint64(view, at + 8, validatorIndex);
    fix(at + 16, 20, address);
    writeUint64(view, at + 36, amount);
    at += WITHDRAWAL_BYTES;
  }
  return output;
}

function assertFields(payload: ExecutionPayload, version: PayloadVersion): void {
  const { extraData, transactions, withdrawals, blobGasUsed, excessBlobGas, withdrawalsRoot } = payload;
  const asserted: readonly (readonly [name: string, value: unknown, since: PayloadVersion])[] = [
    ["withdrawals", withdrawals, 2],
    ["blobGasUsed", blobGasUsed, 3],
    ["excessBlobGas", excessBlobGas, 3],
    ["withdrawalsRoot", withdrawalsRoot, 4],
  ];
  for (const [field, value, since] of asserted) {
    if ((value !== undefined) !== version >= since) throw new WireError("ssz/wrong-version", { version, field });
  }
  const within = (field: string, length: number, max: number): void => {
    if (length > max) throw new WireError("ssz/bad-length", { field, length, max });
  };
  within("extraData", extraData.length, MAX_EXTRA_DATA_BYTES);
  within("transactions", transactions.length, MAX_TRANSACTIONS);
  within("withdrawals", withdrawals?.length ?? 0, MAX_WITHDRAWALS);
}

/**
 * The payload that `encodePayload` would encode to exactly these bytes. Its hashes, transactions and other byte strings are views
 * into them.
 *
 * @throws {WireError} ssz/truncated, ssz/bad-offset, ssz/bad-length, ssz/bad-number
 */
export function decodePayload(bytes: Uint8Array, version: PayloadVersion): ExecutionPayload {
  const fixed = FIXED_BYTES[version];
  if (bytes.length < fixed) throw new WireError("ssz/truncated", { length: bytes.length, fixed });
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const extraDataAt = view.getUint32(436, true);
  const transactionsAt = view.getUint32(504, true);
  const withdrawalsAt = version >= 2 ? view.getUint32(508, true) : bytes.length;
  if (extraDataAt !== fixed) throw new WireError("ssz/bad-offset", { field: "extraData", offset: extraDataAt });
  if (transactionsAt < extraDataAt) throw new WireError("ssz/bad-offset", { field: "transactions", offset: transactionsAt });
  if (withdrawalsAt < transactionsAt || withdrawalsAt > bytes.length) {
    throw new WireError("ssz/bad-offset", { field: "withdrawals", offset: withdrawalsAt });
  }
  const extraDataBytes = transactionsAt - extraDataAt;
  if (extraDataBytes > MAX_EXTRA_DATA_BYTES) {
    throw new WireError("ssz/bad-length", { field: "extraData", length: extraDataBytes, max: MAX_EXTRA_DATA_BYTES });
  }
  return {
    parentHash: bytes.subarray(0, 32),
    feeRecipient: bytes.subarray(32, 52),
    stateRoot: bytes.subarray(52, 84),
    receiptsRoot: bytes.subarray(84, 116),
    logsBloom: bytes.subarray(116, 372),
    prevRandao: bytes.subarray(372, 404),
    blockNumber: readSafeUint64(view, 404, "blockNumber"),
    gasLimit: view.getBigUint64(412, true),
    gasUsed: view.getBigUint64(420, true),
    timestamp: readSafeUint64(view, 428, "timestamp"),
    extraData: extraDataBytes === 0 ? EMPTY_BYTES : bytes.subarray(extraDataAt, transactionsAt),
    baseFeePerGas: readUint256(bytes, 440),
    blockHash: bytes.subarray(472, 504),
    transactions: decodeTransactions(bytes.subarray(transactionsAt, withdrawalsAt)),
    withdrawals: version >= 2 ? decodeWithdrawals(bytes.subarray(withdrawalsAt)) : undefined,
    blobGasUsed: version >= 3 ? view.getBigUint64(512, true) : undefined,
    excessBlobGas: version >= 3 ? view.getBigUint64(520, true) : undefined,
    withdrawalsRoot: version >= 4 ? bytes.subarray(528, 560) : undefined,
  };
}

/** A list of byte lists: offsets of four bytes, then the items. */
function decodeTransactions(scope: Uint8Array): Uint8Array[] {
  if (scope.length === 0) return [];
  if (scope.length < 4) throw new WireError("ssz/truncated", { field: "transactions", length: scope.length });
  const view = new DataView(scope.buffer, scope.byteOffset, scope.byteLength);
  const first = view.getUint32(0, true);
  if (first === 0 || first % 4 !== 0 || first > scope.length) {
    throw new WireError("ssz/bad-offset", { field: "transactions", index: 0, offset: first });
  }
  const count = first / 4;
  if (count > MAX_TRANSACTIONS) throw new WireError("ssz/bad-length", { field: "transactions", length: count });
  const transactions: Uint8Array[] = new Array(count);
  let start = first;
  for (let i = 0; i < count; i++) {
    const end = i + 1 < count ? view.getUint32(4 * (i + 1), true) : scope.length;
    if (end < start || end > scope.length) {
      throw new WireError("ssz/bad-offset", { field: "transactions", index: i + 1, offset: end });
    }
    transactions[i] = scope.subarray(start, end);
    start = end;
  }
  return transactions;
}

function decodeWithdrawals(scope: Uint8Array): Withdrawal[] {
  if (scope.length % WITHDRAWAL_BYTES !== 0 || scope.length > WITHDRAWAL_BYTES * MAX_WITHDRAWALS) {
    throw new WireError("ssz/bad-length", { field: "withdrawals", bytes: scope.length });
  }
  const view = new DataView(scope.buffer, scope.byteOffset, scope.byteLength);
  const withdrawals: Withdrawal[] = [];
  for (let at = 0; at < scope.length; at += WITHDRAWAL_BYTES) {
    withdrawals.push({
      index: view.getBigUint64(at, true),
      validatorIndex: view.getBigUint64(at + 8, true),
      address: scope.subarray(at + 16, at + 36),
      amount: view.getBigUint64(at + 36, true),
    });
  }
  return withdrawals;
}

function writeUint64(view: DataView, at: number, value: bigint): void {
  if (value < 0n || value > MAX_UINT64) throw new WireError("ssz/bad-number", { offset: at, value });
  view.setBigUint64(at, value, true);
}

/** Numbers and times of blocks are numbers here. A larger one is no block of any chain. */
function readSafeUint64(view: DataView, at: number, field: string): number {
  const value = view.getBigUint64(at, true);
  if (value > Number.MAX_SAFE_INTEGER) throw new WireError("ssz/bad-number", { field, value });
  return Number(value);
}

function writeUint256(bytes: Uint8Array, at: number, value: bigint): void {
  if (value < 0n || value >> 256n !== 0n) throw new WireError("ssz/bad-number", { offset: at, value });
  bytes.set(bigintToBytes(value, 32).reverse(), at);
}

const readUint256 = (bytes: Uint8Array, at: number): bigint => bytesToBigint(bytes.slice(at, at + 32).reverse());
