import { bytesToHex, equalBytes, hexToBytes } from "@rnode/primitives";
import { decodeReceipt, encodeReceipt, type Receipt, type RpcReceipt, receiptFromRpc } from "@rnode/protocol";
import { orderedTrieRoot } from "@rnode/trie";
import { faultyAnswer } from "./l1-error.ts";
import { type L1Block, readAnswer } from "./verified-block.ts";

/**
 * Receipts of a block from their JSON, every field that derivation or a caller may use checked, and the receipts root.
 * Spec: docs/protocol/05-services.md#receipt-strategies. `contractAddress` is not looked at.
 *
 * @throws {L1Error} l1/faulty-answer
 */
export function verifyReceiptsJson(json: unknown, block: L1Block): readonly Receipt[] {
  return readAnswer("receipts", () => {
    if (!Array.isArray(json)) throw faultyAnswer("receipts", { got: json === null ? "null" : typeof json });
    const entries = json.map(receiptFromRpc);
    checkPlaces(entries, block);
    return checkRoot(
      entries.map(({ receipt }) => receipt),
      block,
    );
  });
}

/** Receipts of a block from `debug_getRawReceipts`: one EIP-2718 encoding each. @throws {L1Error} l1/faulty-answer */
export function verifyRawReceipts(json: unknown, block: L1Block): readonly Receipt[] {
  return readAnswer("raw receipts", () => {
    if (!Array.isArray(json)) throw faultyAnswer("raw receipts", { got: json === null ? "null" : typeof json });
    return checkRoot(
      json.map((encoded) => decodeReceipt(hexToBytes(String(encoded)))),
      block,
    );
  });
}

function checkRoot(receipts: readonly Receipt[], block: L1Block): readonly Receipt[] {
  if (receipts.length !== block.transactionHashes.length) {
    throw faultyAnswer("receipt count", { block: block.hash, got: receipts.length, expected: block.transactionHashes.length });
  }
  const root = orderedTrieRoot(receipts.map((receipt) => encodeReceipt(receipt)));
  if (!equalBytes(root, block.header.receiptsRoot)) {
    throw faultyAnswer("receipts root", {
      block: block.hash,
      stated: bytesToHex(block.header.receiptsRoot),
      computed: bytesToHex(root),
    });
  }
  return receipts;
}

function checkPlaces(entries: readonly RpcReceipt[], block: L1Block): void {
  const blockHash = hexToBytes(block.hash);
  let cumulativeGas = 0n;
  let logIndex = 0;
  const check = (holds: boolean, field: string, index: number): void => {
    if (!holds) throw faultyAnswer(`receipt ${field}`, { block: block.hash, transactionIndex: index });
  };
  entries.forEach((entry, index) => {
    const transactionHash = block.transactionHashes[index];
    check(entry.transactionIndex === index, "transactionIndex", index);
    check(transactionHash !== undefined && equalBytes(entry.transactionHash, transactionHash), "transactionHash", index);
    check(equalBytes(entry.blockHash, blockHash), "blockHash", index);
    check(entry.blockNumber === block.header.number, "blockNumber", index);
    check(entry.gasUsed === entry.receipt.cumulativeGasUsed - cumulativeGas, "gasUsed", index);
    cumulativeGas = entry.receipt.cumulativeGasUsed;
    for (const log of entry.logs) {
      check(log.logIndex === logIndex++, "logIndex", index);
      check(log.transactionIndex === index, "log transactionIndex", index);
      check(equalBytes(log.transactionHash, entry.transactionHash), "log transactionHash", index);
      check(equalBytes(log.blockHash, blockHash), "log blockHash", index);
      check(log.blockNumber === block.header.number, "log blockNumber", index);
      check(!log.removed, "log removed", index);
    }
  });
}
