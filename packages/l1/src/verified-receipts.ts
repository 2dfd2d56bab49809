import { bytesToHex, equalBytes, hexToBytes, isZeroBytes } from "@rnode/primitives";
import {
  decodeForeignReceipt,
  encodeReceipt,
  isKnownTransactionType,
  logsBloom,
  mergeBlooms,
  type Receipt,
  type RpcReceipt,
  receiptFromRpc,
} from "@rnode/protocol";
import { orderedTrieRoot } from "@rnode/trie";
import { faultyAnswer, L1Error, readAnswer } from "./l1-error.ts";
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
  /** the type of a receipt that this version does not know in full; undefined: it knows all of them */
  readonly unknownType: number | undefined;
  readonly #list: readonly Receipt[];

  private constructor(block: VerifiedHeader, list: readonly Receipt[], unknownType: number | undefined) {
    this.block = block;
    this.unknownType = unknownType;
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
      const list = entries.map(({ receipt }) => receipt);
      return VerifiedReceipts.fromList(
        list,
        list.map((receipt) => encodeReceipt(receipt)),
        transactions,
      );
    });
  }

  /**
   * From `debug_getRawReceipts`: one EIP-2718 encoding per receipt. Receipts of unknown types, or with unknown fields, are hashed as they are.
   *
   * @throws {L1Error} l1/faulty-answer, l1/unreadable if the logs of such a receipt cannot be found
   */
  static fromRaw(json: unknown, transactions: VerifiedTransactions): VerifiedReceipts {
    return readAnswer("raw receipts", () => {
      const raw = listOf("raw receipts", json).map((encoded) => hexToBytes(String(encoded)));
      const read = raw.map(decodeForeignReceipt);
      const encoded = read.map(({ receipt, isKnown }, index) => (isKnown ? encodeReceipt(receipt) : raw[index]!));
      const list = read.map(({ receipt }) => receipt);
      const foreign = read.find(({ isKnown }) => !isKnown)?.receipt;
      const verified = VerifiedReceipts.fromList(list, encoded, transactions, foreign?.type);
      if (foreign !== undefined) assertAllLogs(list, transactions.block, foreign.type);
      return verified;
    });
  }

  private static fromList(
    list: readonly Receipt[],
    encoded: readonly Uint8Array[],
    { block, hashes }: VerifiedTransactions,
    unknownType = list.find(({ type }) => !isKnownTransactionType(type))?.type,
  ): VerifiedReceipts {
    if (list.length !== hashes.length) {
      throw faultyAnswer("receipt count", { block: block.hash, got: list.length, expected: hashes.length });
    }
    const root = orderedTrieRoot(encoded);
    if (!equalBytes(root, block.header.receiptsRoot)) {
      const stated = bytesToHex(block.header.receiptsRoot);
      throw faultyAnswer("receipts root", { block: block.hash, stated, computed: bytesToHex(root) });
    }
    return new VerifiedReceipts(block, list, unknownType);
  }
}

/** The header's bloom, unless it is empty, says whether the logs of receipts in a foreign form were found, and nothing else was taken for one. */
function assertAllLogs(list: readonly Receipt[], block: VerifiedHeader, type: number): void {
  const { logsBloom: stated } = block.header;
  if (isZeroBytes(stated) || equalBytes(mergeBlooms(list.map(({ logs }) => logsBloom(logs))), stated)) return;
  throw new L1Error("l1/unreadable", { block: block.number, what: `a receipt of type 0x${type.toString(16)}` });
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
