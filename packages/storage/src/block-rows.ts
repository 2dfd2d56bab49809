import {
  decodeRlp,
  encodeRlp,
  expectRlpList,
  expectRlpNumber,
  expectRlpString,
  expectRlpUint,
  type RlpItem,
  rlpUint,
} from "@rnode/primitives";
import {
  type Block,
  decodeTransaction,
  encodeTransaction,
  headerFromRlp,
  headerToRlp,
  type Log,
  logsBloom,
  type Receipt,
  withdrawalFromRlp,
  withdrawalToRlp,
} from "@rnode/protocol";

type Body = Omit<Block, "header">;

/** [EIP-2718 transactions, ommers, withdrawals?] */
export function encodeBody(block: Body, encodedTransactions?: readonly Uint8Array[]): Uint8Array {
  const parts: RlpItem[] = [encodedTransactions ?? block.transactions.map(encodeTransaction), block.ommers.map(headerToRlp)];
  if (block.withdrawals !== undefined) parts.push(block.withdrawals.map(withdrawalToRlp));
  return encodeRlp(parts);
}

export function decodeBody(row: Uint8Array): Body {
  const [transactions, ommers, withdrawals] = expectRlpList(decodeRlp(row), 2, 3);
  return {
    transactions: expectRlpList(transactions).map((item) => decodeTransaction(expectRlpString(item))),
    ommers: expectRlpList(ommers).map(headerFromRlp),
    ...(withdrawals !== undefined && { withdrawals: expectRlpList(withdrawals).map(withdrawalFromRlp) }),
  };
}

/** EIP-2718 transactions of a body row, without decoding them; views into the row. */
export function encodedTransactionsOf(row: Uint8Array): Uint8Array[] {
  return expectRlpList(expectRlpList(decodeRlp(row), 2, 3)[0]).map((item) => expectRlpString(item));
}

/**
 * Of each receipt [type, status or state root, gas used so far, logs, deposit nonce?, deposit receipt version?]. The bloom is left out:
 * a quarter kilobyte that the logs give.
 */
export function encodeReceipts(receipts: readonly Receipt[]): Uint8Array {
  return encodeRlp(receipts.map(receiptToRlp));
}

function receiptToRlp(receipt: Receipt): RlpItem {
  const outcome = receipt.status === undefined ? (receipt.stateRoot ?? new Uint8Array(32)) : rlpUint(receipt.status);
  const logs = receipt.logs.map(({ address, topics, data }): RlpItem => [address, topics, data]);
  const item: RlpItem[] = [rlpUint(receipt.type), outcome, rlpUint(receipt.cumulativeGasUsed), logs];
  if (receipt.depositNonce !== undefined) item.push(rlpUint(receipt.depositNonce));
  if (receipt.depositReceiptVersion !== undefined) item.push(rlpUint(receipt.depositReceiptVersion));
  return item;
}

export function decodeReceipts(row: Uint8Array): Receipt[] {
  return expectRlpList(decodeRlp(row)).map(receiptFromRlp);
}

function receiptFromRlp(item: RlpItem): Receipt {
  const [type, outcome, cumulativeGasUsed, logItems, depositNonce, depositReceiptVersion] = expectRlpList(item, 4, 6);
  const statusOrRoot = expectRlpString(outcome);
  const logs = expectRlpList(logItems).map(logFromRlp);
  let bloom: Uint8Array | undefined;
  return {
    type: expectRlpNumber(type),
    status: statusOrRoot.length === 32 ? undefined : statusOrRoot.length === 0 ? 0 : 1,
    ...(statusOrRoot.length === 32 && { stateRoot: statusOrRoot }),
    cumulativeGasUsed: expectRlpUint(cumulativeGasUsed, 8),
    // PERF: several hashes a log, which readers of logs never need.
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
