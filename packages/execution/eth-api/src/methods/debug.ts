import type { BlockSelector } from "@rnode/chain";
import { hashShape, param, rpcErrorOf } from "@rnode/jsonrpc";
import { bytesToHex } from "@rnode/primitives";
import { encodeBlock, encodeHeader, encodeReceipt, encodeTransaction } from "@rnode/protocol";
import { findTransactionParts, requireBlock } from "../backend/backend.ts";
import { sealed } from "../backend/pending-view.ts";
import { blockSelectorShape } from "../params/block-selector.ts";
import type { RawPart } from "../profile/profile.ts";
import * as results from "../schemas/debug-results.ts";
import { type ApiMethods, method } from "./method.ts";
import type { ReadServices } from "./services.ts";

/** The raw encodings of headers, blocks, receipts and transactions. */
export function debugRawMethods({ backend }: ReadServices): ApiMethods {
  const block = param("block", blockSelectorShape);
  const { raw, errors } = backend.profile;
  const unknownTransaction = raw.unknownTransactionIsNull ? null : "0x";
  /** The answer for an unknown block. @throws {RpcError} */
  const unknown = <T>(selector: BlockSelector, what: RawPart, ofNumber: T): T => {
    if (selector.kind === "number" && raw.unknownNumberIsEmpty) return ofNumber;
    throw rpcErrorOf(errors.rawNotFound(selector, what));
  };
  return {
    debug_getRawHeader: method({
      runs: "reader",
      cost: "cheap",
      result: results.rawHeader,
      params: [block],
      handler: ([selector]) => {
        const found = backend.chain.headerOf(sealed(selector));
        return found === undefined ? unknown(selector, "header", "0x") : bytesToHex(encodeHeader(found.header));
      },
    }),
    debug_getRawBlock: method({
      runs: "reader",
      cost: "search",
      result: results.rawBlock,
      params: [block],
      handler: ([selector]) => {
        const found = backend.chain.bodyOf(selector);
        return found === undefined ? unknown(selector, "block", "0x") : bytesToHex(encodeBlock(found.block));
      },
    }),
    debug_getRawReceipts: method({
      runs: "reader",
      cost: "search",
      result: results.rawReceipts,
      params: [block],
      handler: ([selector]) => {
        const found = backend.chain.resolve(selector);
        return found === undefined
          ? unknown(selector, "receipts", null)
          : found.receipts.map((receipt) => bytesToHex(encodeReceipt(receipt)));
      },
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
      summary: `EIP-2718 encoding; ${unknownTransaction === null ? "null" : "`0x`"} when unknown.`,
      handler: ([hash]) => {
        const found = findTransactionParts(backend, hash);
        return found === undefined ? unknownTransaction : bytesToHex(found.parts.encodedTransaction(found.index));
      },
      inWriter: ([hash], { pool }) => {
        const pooled = pool.get(hash);
        return pooled === undefined ? unknownTransaction : bytesToHex(pooled.encoded);
      },
    }),
  };
}
