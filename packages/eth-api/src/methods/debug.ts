import { hashShape, param } from "@rnode/jsonrpc";
import { bytesToHex } from "@rnode/primitives";
import { encodeBlock, encodeHeader, encodeReceipt, encodeTransaction } from "@rnode/protocol";
import { findTransaction, requireBlock, requireHeader, rpcError } from "../backend/backend.ts";
import { blockSelectorShape } from "../params/block-selector.ts";
import * as results from "../schemas/debug-results.ts";
import { type ApiMethods, method } from "./method.ts";
import type { ReadServices } from "./services.ts";

/** The raw encodings of headers, blocks, receipts and transactions. */
export function debugRawMethods({ backend }: ReadServices): ApiMethods {
  const block = param("block", blockSelectorShape);
  return {
    debug_getRawHeader: method({
      runs: "reader",
      cost: "cheap",
      result: results.rawHeader,
      params: [block],
      handler: ([selector]) => bytesToHex(encodeHeader(requireHeader(backend, selector).header)),
    }),
    debug_getRawBlock: method({
      runs: "reader",
      cost: "search",
      result: results.rawBlock,
      params: [block],
      handler: ([selector]) => {
        const found = backend.chain.bodyOf(selector);
        if (found === undefined) throw rpcError(backend.profile.errors.blockNotFound(selector));
        return bytesToHex(encodeBlock(found.block));
      },
    }),
    debug_getRawReceipts: method({
      runs: "reader",
      cost: "search",
      result: results.rawReceipts,
      params: [block],
      handler: ([selector]) => requireBlock(backend, selector).receipts.map((receipt) => bytesToHex(encodeReceipt(receipt))),
    }),
    debug_getRawTransactions: method({
      runs: "reader",
      cost: "search",
      result: results.rawTransactions,
      params: [block],
      handler: ([selector]) => requireBlock(backend, selector).block.transactions.map((tx) => bytesToHex(encodeTransaction(tx))),
    }),
    debug_getRawTransaction: method({
      runs: "reader-first",
      result: results.rawTransaction,
      params: [param("hash", hashShape)],
      summary: "EIP-2718 encoding; `0x` when unknown.",
      handler: ([hash]) => {
        const found = findTransaction(backend, hash);
        return found === undefined ? "0x" : bytesToHex(encodeTransaction(found.stored.block.transactions[found.index]!));
      },
      inWriter: ([hash], { pool }) => {
        const pooled = pool.get(hash);
        return pooled === undefined ? "0x" : bytesToHex(pooled.encoded);
      },
    }),
  };
}
