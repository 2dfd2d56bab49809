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
import { faultyAnswer, L1Error, readAnswer } from "../l1-error.ts";
import type { VerifiedHeader } from "./verified-header.ts";
import type { VerifiedTransactions } from "./verified-transactions.ts";

/** of a receipt with its bloom, and of a log with its topics and without its data */
const RECEIPT_BYTES = 700;
const LOG_BYTES = 900;

/** From this gas on, the receipts of a block can have 100 MB and more, because a log takes 380 gas and 370 bytes of JSON. */
const LARGE_GAS = 100_000_000n;

/** Whether a block's receipts are kept as bytes, and read one by one. */
export const mayHaveLargeReceipts = ({ header }: VerifiedHeader): boolean => header.gasUsed >= LARGE_GAS;

/**
 * The receipts of a block's transactions, checked against the receipts root of a verified header, whether or not the endpoint is
 * trusted. Only `ReceiptsCollector` creates one.
 */
export class VerifiedReceipts {
  readonly block: VerifiedHeader;
  /** in memory, roughly */
  readonly sizeBytes: number;
  /** the type of a receipt with unknown parts; `undefined` if all are known */
  readonly unknownType: number | undefined;
  readonly #list: readonly Receipt[];

  private constructor(block: VerifiedHeader, list: readonly Receipt[], unknownType: number | undefined) {
    this.block = block;
    this.unknownType = unknownType;
    this.sizeBytes = list.reduce((sum, receipt) => sum + sizeOf(receipt), 0);
    this.#list = list;
  }

  get list(): readonly Receipt[] {
    return this.#list;
  }

  /**
   * From receipt objects: every field that callers use is checked. `contractAddress` is ignored. Spec:
   * docs/protocol/05-services.md#receipt-strategies
   *
   * @throws {L1Error} l1/faulty-answer
   */
  static fromJson(json: unknown, transactions: VerifiedTransactions): VerifiedReceipts {
    const collector = new ReceiptsCollector(transactions);
    for (const entry of listOf("receipts", json)) collector.addJson(entry);
    return collector.finish();
  }

  /**
   * From `debug_getRawReceipts`: one EIP-2718 encoding per receipt. Receipts of unknown types, or with unknown fields, are hashed
   * without decoding.
   *
   * @throws {L1Error} l1/faulty-answer, l1/unreadable if the logs of such a receipt cannot be found
   */
  static fromRaw(json: unknown, transactions: VerifiedTransactions): VerifiedReceipts {
    const collector = new ReceiptsCollector(transactions);
    for (const entry of listOf("raw receipts", json)) collector.addRaw(entry);
    return collector.finish();
  }

  /** For `ReceiptsCollector`. @param encoded of each receipt, as it enters the root @throws {L1Error} l1/faulty-answer, l1/unreadable */
  static check(
    list: readonly Receipt[],
    encoded: readonly Uint8Array[],
    foreignType: number | undefined,
    { block, hashes }: VerifiedTransactions,
  ): VerifiedReceipts {
    if (list.length !== hashes.length) {
      throw faultyAnswer("receipt count", { block: block.hash, got: list.length, expected: hashes.length });
    }
    const root = orderedTrieRoot(encoded);
    if (!equalBytes(root, block.header.receiptsRoot)) {
      const stated = bytesToHex(block.header.receiptsRoot);
      throw faultyAnswer("receipts root", { block: block.hash, stated, computed: bytesToHex(root) });
    }
    if (foreignType !== undefined) assertAllLogs(list, block, foreignType);
    return new VerifiedReceipts(block, list, foreignType ?? list.find(({ type }) => !isKnownTransactionType(type))?.type);
  }
}

/** Gets the receipts of a block in order, one by one, so their JSON is not held as a whole. */
export class ReceiptsCollector {
  readonly #transactions: VerifiedTransactions;
  readonly #isLarge: boolean;
  readonly #list: Receipt[] = [];
  readonly #encoded: Uint8Array[] = [];
  readonly #place: Place;
  #foreignType: number | undefined;

  constructor(transactions: VerifiedTransactions) {
    this.#transactions = transactions;
    this.#place = { blockHash: hexToBytes(transactions.block.hash), index: 0, cumulativeGas: 0n, logIndex: 0 };
    this.#isLarge = mayHaveLargeReceipts(transactions.block);
  }

  /** @param entry a receipt object @throws {L1Error} l1/faulty-answer */
  addJson(entry: unknown): void {
    readAnswer("receipts", () => {
      const read = receiptFromRpc(entry);
      assertPlace(read, this.#place, this.#transactions);
      this.#add(read.receipt, encodeReceipt(read.receipt));
    });
  }

  /** @param entry an encoding in hex @throws {L1Error} l1/faulty-answer */
  addRaw(entry: unknown): void {
    readAnswer("raw receipts", () => {
      const raw = hexToBytes(String(entry));
      const { receipt, isKnown } = decodeForeignReceipt(raw);
      if (!isKnown) this.#foreignType ??= receipt.type;
      this.#add(receipt, isKnown ? encodeReceipt(receipt) : raw);
    });
  }

  /** @throws {L1Error} l1/faulty-answer, l1/unreadable */
  finish(): VerifiedReceipts {
    return VerifiedReceipts.check(this.#list, this.#encoded, this.#foreignType, this.#transactions);
  }

  #add(receipt: Receipt, encoded: Uint8Array): void {
    const { length } = this.#transactions.hashes;
    if (this.#list.length === length) throw faultyAnswer("receipt count", { got: "more", expected: length });
    this.#list.push(this.#isLarge ? new EncodedReceipt(receipt, encoded) : receipt);
    this.#encoded.push(encoded);
  }
}

/** A receipt whose logs are decoded on each access, because objects take ten times the memory. */
class EncodedReceipt implements Receipt {
  readonly type: number;
  readonly status: Receipt["status"];
  readonly cumulativeGasUsed: bigint;
  readonly #encoded: Uint8Array;

  constructor({ type, status, cumulativeGasUsed }: Receipt, encoded: Uint8Array) {
    this.type = type;
    this.status = status;
    this.cumulativeGasUsed = cumulativeGasUsed;
    this.#encoded = encoded;
  }

  get sizeBytes(): number {
    return RECEIPT_BYTES + this.#encoded.length;
  }

  get bloom(): Uint8Array {
    return this.#decoded().bloom;
  }

  get logs(): Receipt["logs"] {
    return this.#decoded().logs;
  }

  #decoded(): Receipt {
    return decodeForeignReceipt(this.#encoded).receipt;
  }
}

const sizeOf = (receipt: Receipt): number =>
  receipt instanceof EncodedReceipt
    ? receipt.sizeBytes
    : RECEIPT_BYTES + receipt.logs.reduce((sum, log) => sum + LOG_BYTES + log.data.length, 0);

/** The header's bloom, unless it is empty, shows whether exactly the logs of receipts in an unknown form were found. */
function assertAllLogs(list: readonly Receipt[], block: VerifiedHeader, type: number): void {
  const { logsBloom: stated } = block.header;
  if (isZeroBytes(stated) || equalBytes(mergeBlooms(list.map(({ logs }) => logsBloom(logs))), stated)) return;
  throw new L1Error("l1/unreadable", { block: block.number, what: `a receipt of type 0x${type.toString(16)}` });
}

function listOf(what: string, json: unknown): readonly unknown[] {
  if (!Array.isArray(json)) throw faultyAnswer(what, { got: json === null ? "null" : typeof json });
  return json;
}

/** Where the next receipt is. */
interface Place {
  readonly blockHash: Uint8Array;
  index: number;
  cumulativeGas: bigint;
  logIndex: number;
}

function assertPlace(entry: RpcReceipt, place: Place, { block, hashes }: VerifiedTransactions): void {
  const { blockHash } = place;
  const index = place.index++;
  const assert = (holds: boolean, field: string): void => {
    if (!holds) throw faultyAnswer(`receipt ${field}`, { block: block.hash, transactionIndex: index });
  };
  const transactionHash = hashes[index];
  assert(entry.transactionIndex === index, "transactionIndex");
  assert(transactionHash !== undefined && equalBytes(entry.transactionHash, transactionHash), "transactionHash");
  assert(equalBytes(entry.blockHash, blockHash), "blockHash");
  assert(entry.blockNumber === block.number, "blockNumber");
  assert(entry.gasUsed === entry.receipt.cumulativeGasUsed - place.cumulativeGas, "gasUsed");
  place.cumulativeGas = entry.receipt.cumulativeGasUsed;
  for (const log of entry.logs) {
    assert(log.logIndex === place.logIndex++, "logIndex");
    assert(log.transactionIndex === index, "log transactionIndex");
    assert(equalBytes(log.transactionHash, entry.transactionHash), "log transactionHash");
    assert(equalBytes(log.blockHash, blockHash), "log blockHash");
    assert(log.blockNumber === block.number, "log blockNumber");
    assert(!log.removed, "log removed");
  }
}
