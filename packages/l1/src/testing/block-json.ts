import { bytesToHex, EMPTY_OMMERS_HASH, EMPTY_REQUESTS_HASH, EMPTY_TRIE_ROOT, type Hex, toQuantity } from "@rnode/primitives";
import {
  encodeReceipt,
  encodeTransaction,
  type FeeMarketTransaction,
  type Header,
  hashHeader,
  hashTransaction,
  type Log,
  logsBloom,
  type Receipt,
  signTransaction,
} from "@rnode/protocol";
import { orderedTrieRoot } from "@rnode/trie";

const filled = (length: number, byte: number): Uint8Array => new Uint8Array(length).fill(byte);

export interface BlockFixture {
  readonly hash: Hex;
  readonly header: Header;
  readonly transactions: readonly FeeMarketTransaction[];
  readonly receipts: readonly Receipt[];
  /** of eth_getBlockBy… with hashes and with full transactions */
  readonly json: Record<string, unknown>;
  readonly fullJson: Record<string, unknown>;
  readonly receiptsJson: Record<string, unknown>[];
  readonly rawReceipts: Hex[];
}

/** A Prague block with signed transactions, one log each, and correct roots. */
export function blockFixture(number: number, transactionCount: number, parentHash = filled(32, 0x01)): BlockFixture {
  const transactions = Array.from({ length: transactionCount }, (_, index) =>
    signTransaction<FeeMarketTransaction>(
      {
        type: 0x02,
        chainId: 900n,
        nonce: BigInt(index),
        maxPriorityFeePerGas: 1n,
        maxFeePerGas: 10n ** 9n,
        gasLimit: 100_000n,
        to: filled(20, 0x22),
        value: BigInt(number),
        data: filled(3, index),
        accessList: [],
      },
      filled(32, 0x11),
    ),
  );
  const receipts = transactions.map((_, index): Receipt => {
    const logs: Log[] = [{ address: filled(20, 0x33), topics: [filled(32, index)], data: filled(5, index) }];
    return { type: 2, status: 1, cumulativeGasUsed: 30_000n * BigInt(index + 1), bloom: logsBloom(logs), logs };
  });
  const header: Header = {
    parentHash,
    ommersHash: EMPTY_OMMERS_HASH,
    beneficiary: filled(20, 0x44),
    stateRoot: filled(32, 0x02),
    transactionsRoot: orderedTrieRoot(transactions.map((transaction) => encodeTransaction(transaction))),
    receiptsRoot: orderedTrieRoot(receipts.map((receipt) => encodeReceipt(receipt))),
    logsBloom: filled(256, 0),
    difficulty: 0n,
    number,
    gasLimit: 30_000_000n,
    gasUsed: 30_000n * BigInt(transactionCount),
    timestamp: 1_700_000_000 + number * 12,
    extraData: filled(2, 0x55),
    mixHash: filled(32, 0x03),
    nonce: filled(8, 0),
    baseFeePerGas: 7n,
    withdrawalsRoot: EMPTY_TRIE_ROOT,
    blobGasUsed: 0n,
    excessBlobGas: 100n,
    parentBeaconBlockRoot: filled(32, 0x04),
    requestsHash: EMPTY_REQUESTS_HASH,
  };
  const hash = bytesToHex(hashHeader(header));
  const json: Record<string, unknown> = {
    hash,
    parentHash: bytesToHex(header.parentHash),
    sha3Uncles: bytesToHex(header.ommersHash),
    miner: bytesToHex(header.beneficiary),
    stateRoot: bytesToHex(header.stateRoot),
    transactionsRoot: bytesToHex(header.transactionsRoot),
    receiptsRoot: bytesToHex(header.receiptsRoot),
    logsBloom: bytesToHex(header.logsBloom),
    difficulty: "0x0",
    number: toQuantity(number),
    gasLimit: toQuantity(header.gasLimit),
    gasUsed: toQuantity(header.gasUsed),
    timestamp: toQuantity(header.timestamp),
    extraData: bytesToHex(header.extraData),
    mixHash: bytesToHex(header.mixHash),
    nonce: bytesToHex(header.nonce),
    baseFeePerGas: "0x7",
    withdrawalsRoot: bytesToHex(EMPTY_TRIE_ROOT),
    blobGasUsed: "0x0",
    excessBlobGas: "0x64",
    parentBeaconBlockRoot: bytesToHex(filled(32, 0x04)),
    requestsHash: bytesToHex(EMPTY_REQUESTS_HASH),
    withdrawals: [],
    uncles: [],
    transactions: transactions.map((transaction) => bytesToHex(hashTransaction(transaction))),
  };
  const place = (index: number) => ({
    blockHash: hash,
    blockNumber: toQuantity(number),
    transactionHash: bytesToHex(hashTransaction(transactions[index]!)),
    transactionIndex: toQuantity(index),
  });
  const fullJson = {
    ...json,
    transactions: transactions.map((transaction, index) => ({
      ...place(index),
      hash: bytesToHex(hashTransaction(transaction)),
      type: "0x2",
      chainId: toQuantity(transaction.chainId),
      nonce: toQuantity(transaction.nonce),
      maxPriorityFeePerGas: toQuantity(transaction.maxPriorityFeePerGas),
      maxFeePerGas: toQuantity(transaction.maxFeePerGas),
      gas: toQuantity(transaction.gasLimit),
      to: bytesToHex(transaction.to!),
      value: toQuantity(transaction.value),
      input: bytesToHex(transaction.data),
      accessList: [],
      r: bytesToHex(transaction.signature!.r),
      s: bytesToHex(transaction.signature!.s),
      yParity: toQuantity(transaction.signature!.yParity),
      v: toQuantity(transaction.signature!.yParity),
    })),
  };
  const receiptsJson = receipts.map((receipt, index) => ({
    ...place(index),
    type: "0x2",
    status: "0x1",
    cumulativeGasUsed: toQuantity(receipt.cumulativeGasUsed),
    gasUsed: toQuantity(30_000),
    logsBloom: bytesToHex(receipt.bloom),
    logs: receipt.logs.map((log) => ({
      ...place(index),
      logIndex: toQuantity(index),
      address: bytesToHex(log.address),
      topics: log.topics.map(bytesToHex),
      data: bytesToHex(log.data),
      removed: false,
    })),
  }));
  const rawReceipts = receipts.map((receipt) => bytesToHex(encodeReceipt(receipt)));
  return { hash, header, transactions, receipts, json, fullJson, receiptsJson, rawReceipts };
}
