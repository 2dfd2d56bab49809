import {
  decodeRlp,
  encodeRlp,
  expectRlpList,
  expectRlpNumber,
  expectRlpString,
  expectRlpUint,
  type RlpItem,
  RlpWriter,
  readRlpSpan,
  ZERO_HASH,
} from "@rnode/primitives";
import {
  type Block,
  headerFromRlp,
  headerToRlp,
  type Log,
  logsBloom,
  type Receipt,
  withdrawalFromRlp,
  withdrawalToRlp,
  writeLogs,
} from "@rnode/protocol";

const writer = new RlpWriter();

/** [ommers, withdrawals?] @returns a copy */
export function encodeRest({ ommers, withdrawals }: Pick<Block, "ommers" | "withdrawals">): Uint8Array {
  const isUsual = ommers.length === 0 && (withdrawals === undefined || withdrawals.length === 0);
  if (isUsual) return withdrawals === undefined ? NOTHING : NO_WITHDRAWALS;
  return encodeRlp([ommers.map(headerToRlp), ...(withdrawals === undefined ? [] : [withdrawals.map(withdrawalToRlp)])]);
}
const NOTHING = Uint8Array.of(0xc1, 0xc0);
const NO_WITHDRAWALS = Uint8Array.of(0xc2, 0xc0, 0xc0);

export function decodeRest(bytes: Uint8Array): Pick<Block, "ommers" | "withdrawals"> {
  const [ommers, withdrawals] = expectRlpList(decodeRlp(bytes), 1, 2);
  return {
    ommers: expectRlpList(ommers).map(headerFromRlp),
    ...(withdrawals !== undefined && { withdrawals: expectRlpList(withdrawals).map(withdrawalFromRlp) }),
  };
}

/**
 * For each receipt: [type, status or state root, cumulative gas used, logs, deposit nonce?, deposit receipt version?]. The bloom filter
 * (256 bytes) is left out, because the logs determine it.
 *
 * @param encoded the receipts as encoded for the receipts root, if known
 * @returns a view that the next row overwrites
 */
export function encodeReceiptsRow(receipts: readonly Receipt[], encoded?: readonly Uint8Array[]): Uint8Array {
  writer.start();
  for (let i = receipts.length - 1; i >= 0; i--) {
    const { type, status, stateRoot, cumulativeGasUsed, logs, depositNonce, depositReceiptVersion } = receipts[i]!;
    const end = writer.size;
    const encodedReceipt = encoded?.[i];
    const isAlike = status !== undefined && (depositNonce === undefined) === (depositReceiptVersion === undefined);
    if (encodedReceipt !== undefined && isAlike) {
      writeWithoutBloom(encodedReceipt, type);
    } else {
      if (depositReceiptVersion !== undefined) writer.uint(depositReceiptVersion);
      if (depositNonce !== undefined) writer.uint(depositNonce);
      writeLogs(writer, logs);
      writer.uint(cumulativeGasUsed);
      if (status === undefined) writer.string(stateRoot ?? ZERO_HASH);
      else writer.uint(status);
    }
    writer.uint(type);
    writer.list(end);
  }
  writer.list(0);
  return writer.view();
}

/**
 * Writes the fields of an encoded receipt (status, gas used, bloom, the rest) without the bloom. PERF: logs are copied, not encoded
 * again.
 */
function writeWithoutBloom(encoded: Uint8Array, type: number): void {
  const { dataStart, end } = readRlpSpan(encoded, type === 0 ? 0 : 1);
  const bloom = readRlpSpan(encoded, readRlpSpan(encoded, readRlpSpan(encoded, dataStart).end).end);
  writer.raw(encoded.subarray(bloom.end, end));
  writer.raw(encoded.subarray(dataStart, bloom.start));
}

/** One item of the list. */
export function receiptFromRlp(item: RlpItem): Receipt {
  const [type, outcome, cumulativeGasUsed, logItems, depositNonce, depositReceiptVersion] = expectRlpList(item, 4, 6);
  const statusOrRoot = expectRlpString(outcome);
  const logs = expectRlpList(logItems).map(logFromRlp);
  let bloom: Uint8Array | undefined;
  return {
    type: expectRlpNumber(type),
    status: statusOrRoot.length === 32 ? undefined : statusOrRoot.length === 0 ? 0 : 1,
    ...(statusOrRoot.length === 32 && { stateRoot: statusOrRoot }),
    cumulativeGasUsed: expectRlpUint(cumulativeGasUsed, 8),
    // PERF: computed on demand, because it takes several hashes per log and readers of logs never need it.
    get bloom() {
      bloom ??= logsBloom(logs);
      return bloom;
    },
    logs,
    ...(depositNonce !== undefined && { depositNonce: expectRlpUint(depositNonce, 8) }),
    ...(depositReceiptVersion !== undefined && { depositReceiptVersion: expectRlpUint(depositReceiptVersion, 8) }),
  };
}

function logFromRlp(item: RlpItem): Log {
  const [address, topics, data] = expectRlpList(item, 3, 3);
  return {
    address: expectRlpString(address, 20),
    topics: expectRlpList(topics).map((topic) => expectRlpString(topic, 32)),
    data: expectRlpString(data),
  };
}
