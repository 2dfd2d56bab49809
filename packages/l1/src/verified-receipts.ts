import { bytesToHex, equalBytes, hexToBytes } from "@rnode/primitives";
import { decodeReceipt, encodeReceipt, type Receipt, type RpcReceipt, receiptFromRpc } from "@rnode/protocol";
import { orderedTrieRoot } from "@rnode/trie";
import { faultyAnswer, readAnswer } from "./l1-error.ts";
import type { VerifiedHeader } from "./verified-header.ts";
import type { VerifiedTransactions } from "./verified-transactions.ts";

/** of a receipt with its bloom, and of a log with its topics and without its data */
const RECEIPT_BYTES = 700;
const LOG_BYTES = 900;

/**
 * The receipts of a block's transactions, checked against the receipts root of a verified header, whether or not the endpoint is
 * trusted. Only `fromJson` and `fromRaw` create one.
 */
export class VerifiedReceipts {
  readonly block: VerifiedHeader;
  /** in memory, roughly */
  readonly sizeBytes: number;
  readonly #list: readonly Receipt[];

  private constructor(block: VerifiedHeader, list: readonly Receipt[]) {
    this.block = block;
    this.sizeBytes = list.reduce(
      (sum, { logs }) => sum + RECEIPT_BYTES + logs.reduce((of, log) => of + LOG_BYTES + log.data.length, 0),
      0,
    );
    this.#list = list;
  }

  get list(): readonly Receipt[] {
    return this.#list;
  }

  /**
   * From receipt objects: every field that a caller may use is checked, too. `contractAddress` is ignored. Spec:
   * docs/protocol/05-services.md#receipt-strategies
   *
   * @throws {L1Error} l1/faulty-answer
   */
  static fromJson(json: unknown, transactions: VerifiedTransactions): VerifiedReceipts {
    return readAnswer("receipts", () => {
      const entries = listOf("receipts", json).map(receiptFromRpc);
      assertPlaces(entries, transactions);
      return VerifiedReceipts.fromList(
        entries.map(({ receipt }) => receipt),
        transactions,
      );
    });
  }

  /** From `debug_getRawReceipts`: one EIP-2718 encoding per receipt. @throws {L1Error} l1/faulty-answer */
  static fromRaw(json: unknown, transactions: VerifiedTransactions): VerifiedReceipts {
    return readAnswer("raw receipts", () => {
      const list = listOf("raw receipts", json).map((encoded) => decodeReceipt(hexToBytes(String(encoded))));
      return VerifiedReceipts.fromList(list, transactions);
    });
  }

  private static fromList(list: readonly Receipt[], { block, hashes }: VerifiedTransactions): VerifiedReceipts {
    if (list.length !== hashes.length) {
      throw faultyAnswer("receipt count", { block: block.hash, got: list.length, expected: hashes.length });
    }
    const root = orderedTrieRoot(list.map((receipt) => encodeReceipt(receipt)));
    if (!equalBytes(root, block.header.receiptsRoot)) {
      const stated = bytesToHex(block.header.receiptsRoot);
      throw faultyAnswer("receipts root", { block: block.hash, stated, computed: bytesToHex(root) });
    }
    return new VerifiedReceipts(block, list);
  }
}

function listOf(what: string, json: unknown): readonly unknown[] {
  if (!Array.isArray(json)) throw faultyAnswer(what, { got: json === null ? "null" : typeof json });
  return json;
}

function assertPlaces(entries: readonly RpcReceipt[], { block, hashes }: VerifiedTransactions): void {
  const blockHash = hexToBytes(block.hash);
  let cumulativeGas = 0n;
  let logIndex = 0;
  const assert = (holds: boolean, field: string, index: number): void => {
    if (!holds) throw faultyAnswer(`receipt ${field}`, { block: block.hash, transactionIndex: index });
  };
  entries.forEach((entry, index) => {
    const transactionHash = hashes[index];
    assert(entry.transactionIndex === index, "transactionIndex", index);
    assert(transactionHash !== undefined && equalBytes(entry.transactionHash, transactionHash), "transactionHash", index);
    assert(equalBytes(entry.blockHash, blockHash), "blockHash", index);
    assert(entry.blockNumber === block.number, "blockNumber", index);
    assert(entry.gasUsed === entry.receipt.cumulativeGasUsed - cumulativeGas, "gasUsed", index);
    cumulativeGas = entry.receipt.cumulativeGasUsed;
    for (const log of entry.logs) {
      assert(log.logIndex === logIndex++, "logIndex", index);
      assert(log.transactionIndex === index, "log transactionIndex", index);
      assert(equalBytes(log.transactionHash, entry.transactionHash), "log transactionHash", index);
      assert(equalBytes(log.blockHash, blockHash), "log blockHash", index);
      assert(log.blockNumber === block.number, "log blockNumber", index);
      assert(!log.removed, "log removed", index);
    }
  });
}
