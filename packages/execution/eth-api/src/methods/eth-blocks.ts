import type { BlockSelector } from "@rnode/chain";
import { booleanShape, countShape, hashShape, type JsonText, optionalParam, param } from "@rnode/jsonrpc";
import { bytesToHex, toQuantity } from "@rnode/primitives";
import { encodeBlock, hashHeader } from "@rnode/protocol";
import type { BlockParts } from "@rnode/storage";
import { findTransactionParts, type HeaderAt, type ReadBackend, rulesAt } from "../backend/backend.ts";
import { partsWithReceipts } from "../backend/pruned-history.ts";
import { TextCache } from "../backend/text-cache.ts";
import { syncStatusToJson } from "../feeds/sync-feed.ts";
import { headerToJson } from "../json/block-json.ts";
import { blockPartsText } from "../json/block-text.ts";
import { PartsWriter } from "../json/parts-writer.ts";
import { type JsonObject, transactionToJson } from "../json/transaction-json.ts";
import { blockNumberShape, blockSelectorShape, LATEST } from "../params/block-selector.ts";
import { numberOrQuantityShape } from "../params/number-or-quantity.ts";
import * as results from "../schemas/results.ts";
import { type ApiMethods, method } from "./method.ts";
import type { ReadServices } from "./services.ts";

/** For the texts of frequently requested blocks, mostly the newest. */
const BLOCK_TEXT_BYTES = 8 * 1024 * 1024;

/** Blocks, transactions and receipts. In both profiles the answer is null for something that does not exist. */
export function ethBlockMethods({ backend, startingBlock, sync }: ReadServices): ApiMethods {
  const { chain, profile, store } = backend;
  const hashSelector = (hash: Uint8Array): BlockSelector => ({ kind: "hash", hash, requireCanonical: false });
  const writer = new PartsWriter({ profile, rulesOf: (parts) => rulesAt(backend, parts) });
  const texts = new TextCache(BLOCK_TEXT_BYTES);
  const block = (selector: BlockSelector, full = false): JsonText | null => {
    const isPending = selector.kind === "tag" && selector.tag === "pending";
    const parts = chain.partsOf(selector);
    if (parts === undefined) return null;
    const { pendingHasNoIdentity } = profile.block;
    if (isPending && (pendingHasNoIdentity || backend.pending !== undefined)) return blockText(parts, full, pendingHasNoIdentity);
    const cacheKey = `${bytesToHex(parts.hash)}${full ? "f" : "h"}${parts.hasReceipts ? "" : "p"}`;
    let text = texts.get(cacheKey);
    if (text === undefined) texts.set(cacheKey, (text = blockText(parts, full, false)));
    return text;
  };
  const blockText = (parts: BlockParts, full: boolean, isPending: boolean): JsonText => {
    const isMerged = parts.header.difficulty === 0n && chain.config.optimism !== undefined;
    const totalDifficulty = isMerged ? 0n : store.readTotalDifficulty(parts.hash);
    return blockPartsText(writer, profile, parts, { full, totalDifficulty, isPending });
  };
  const transactionAt = (parts: BlockParts | undefined, index: number): JsonText | null => {
    if (parts === undefined || index >= parts.count) return null;
    writer.open(parts).transaction(index);
    return writer.json.takeJson();
  };
  const rawTransactionAt = (parts: BlockParts | undefined, index: number): string | null =>
    parts === undefined || index >= parts.count ? null : bytesToHex(parts.encodedTransaction(index));
  const transactionCount = (selector: BlockSelector): string | null => {
    const parts = chain.partsOf(selector);
    return parts === undefined ? null : toQuantity(parts.count);
  };
  const index = param("index", profile.parameters.takesNumericIndices ? numberOrQuantityShape : countShape);
  const uncleCount = (selector: BlockSelector): string | null => {
    const found = chain.bodyOf(selector);
    return found === undefined ? null : toQuantity(found.block.ommers.length);
  };
  const uncle = (selector: BlockSelector, index: number): JsonObject | null => {
    const header = chain.bodyOf(selector)?.block.ommers[index];
    if (header === undefined) return null;
    const size = encodeBlock({ header, transactions: [], ommers: [], withdrawals: undefined }).length;
    return { ...headerToJson(header, hashHeader(header)), size: toQuantity(size), uncles: [] };
  };
  /** Hides the identity of the pending block, in the profile that shows it as not existing yet. */
  const asPending = (selector: BlockSelector, json: JsonObject): JsonObject =>
    profile.block.pendingHasNoIdentity && selector.kind === "tag" && selector.tag === "pending"
      ? { ...json, hash: null, nonce: null, miner: null }
      : json;

  return {
    eth_chainId: method({
      runs: "reader",
      cost: "cheap",
      result: results.quantity("chainId"),
      params: [],
      summary: "Chain id of the L2.",
      handler: () => toQuantity(chain.config.chainId),
    }),
    eth_blockNumber: method({
      runs: "reader",
      cost: "cheap",
      result: results.quantity("blockNumber"),
      params: [],
      summary: "Number of the latest block.",
      handler: () => toQuantity(chain.head().number),
    }),
    eth_syncing: method({
      runs: "reader",
      cost: "cheap",
      result: results.syncing,
      params: [],
      summary: "Whether and how far the node is syncing.",
      handler: () => syncStatusToJson(profile, sync.state, chain.head().number, startingBlock),
    }),
    eth_getBlockByNumber: method({
      runs: "reader",
      cost: "cheap",
      result: results.block,
      params: [param("block", blockNumberShape), optionalParam("full", booleanShape)],
      handler: ([selector, full]) => block(selector, full),
    }),
    eth_getBlockByHash: method({
      runs: "reader-first",
      result: results.block,
      params: [param("hash", hashShape), optionalParam("full", booleanShape)],
      handler: ([hash, full]) => block(hashSelector(hash), full),
    }),
    eth_getHeaderByNumber: method({
      runs: "reader",
      cost: "cheap",
      result: results.header,
      params: [param("block", blockNumberShape)],
      handler: ([selector]) => {
        const at = chain.headerOf(selector);
        return at === undefined ? null : asPending(selector, shownHeader(backend, at));
      },
    }),
    eth_getHeaderByHash: method({
      runs: "reader-first",
      result: results.header,
      params: [param("hash", hashShape)],
      handler: ([hash]) => {
        const at = chain.headerOf(hashSelector(hash));
        return at === undefined ? null : shownHeader(backend, at);
      },
    }),
    eth_getBlockTransactionCountByNumber: method({
      runs: "reader",
      cost: "cheap",
      result: results.count,
      params: [param("block", blockNumberShape)],
      handler: ([selector]) => transactionCount(selector),
    }),
    eth_getBlockTransactionCountByHash: method({
      runs: "reader-first",
      result: results.count,
      params: [param("hash", hashShape)],
      handler: ([hash]) => transactionCount(hashSelector(hash)),
    }),
    eth_getUncleCountByBlockNumber: method({
      runs: "reader",
      cost: "cheap",
      result: results.count,
      params: [param("block", blockNumberShape)],
      handler: ([selector]) => uncleCount(selector),
    }),
    eth_getUncleCountByBlockHash: method({
      runs: "reader-first",
      result: results.count,
      params: [param("hash", hashShape)],
      handler: ([hash]) => uncleCount(hashSelector(hash)),
    }),
    eth_getUncleByBlockNumberAndIndex: method({
      runs: "reader",
      cost: "cheap",
      result: results.uncle,
      params: [param("block", blockNumberShape), index],
      handler: ([selector, index]) => uncle(selector, index),
    }),
    eth_getUncleByBlockHashAndIndex: method({
      runs: "reader",
      cost: "cheap",
      result: results.uncle,
      params: [param("hash", hashShape), index],
      handler: ([hash, index]) => uncle(hashSelector(hash), index),
    }),
    eth_getTransactionByHash: method({
      runs: "reader-first",
      result: results.transaction,
      params: [param("hash", hashShape)],
      handler: ([hash]) => {
        const found = findTransactionParts(backend, hash);
        return found === undefined ? null : transactionAt(found.parts, found.index);
      },
      inWriter: ([hash], { pool }) => {
        const pooled = pool.get(hash);
        return pooled === undefined ? null : transactionToJson(profile, pooled.transaction, pooled.sender, undefined);
      },
    }),
    eth_getTransactionByBlockNumberAndIndex: method({
      runs: "reader",
      cost: "cheap",
      result: results.transaction,
      params: [param("block", blockNumberShape), index],
      handler: ([selector, index]) => transactionAt(chain.partsOf(selector), index),
    }),
    eth_getTransactionByBlockHashAndIndex: method({
      runs: "reader-first",
      result: results.transaction,
      params: [param("hash", hashShape), index],
      handler: ([hash, index]) => transactionAt(chain.partsOf(hashSelector(hash)), index),
    }),
    eth_getRawTransactionByHash: method({
      runs: "reader-first",
      result: results.rawTransaction,
      params: [param("hash", hashShape)],
      handler: ([hash]) => {
        const found = findTransactionParts(backend, hash);
        return found === undefined ? null : rawTransactionAt(found.parts, found.index);
      },
      inWriter: ([hash], { pool }) => {
        const pooled = pool.get(hash);
        return pooled === undefined ? null : bytesToHex(pooled.encoded);
      },
    }),
    eth_getRawTransactionByBlockNumberAndIndex: method({
      runs: "reader",
      cost: "cheap",
      result: results.rawTransaction,
      params: [param("block", blockNumberShape), index],
      handler: ([selector, index]) => rawTransactionAt(chain.partsOf(selector), index),
    }),
    eth_getRawTransactionByBlockHashAndIndex: method({
      runs: "reader-first",
      result: results.rawTransaction,
      params: [param("hash", hashShape), index],
      handler: ([hash, index]) => rawTransactionAt(chain.partsOf(hashSelector(hash)), index),
    }),
    eth_getTransactionReceipt: method({
      runs: "reader",
      cost: "cheap",
      result: results.receipt,
      params: [param("hash", hashShape)],
      handler: ([hash]) => {
        const found = findTransactionParts(backend, hash);
        if (found === undefined) return null;
        writer.open(found.parts).receipt(found.index);
        return writer.json.takeJson();
      },
    }),
    eth_getBlockReceipts: method({
      runs: "reader-first",
      result: results.receipts,
      params: [optionalParam("block", blockSelectorShape)],
      handler: ([selector]) => {
        const parts = partsWithReceipts(backend, selector ?? LATEST);
        if (parts === undefined) return null;
        writer.open(parts).receipts();
        return writer.json.takeJson();
      },
    }),
  };
}

/** A header as `eth_getHeaderByNumber` shows it. */
export function shownHeader({ chain, profile }: ReadBackend, { header, hash }: HeaderAt): JsonObject {
  const body = profile.headersHaveSize ? chain.bodyOf({ kind: "hash", hash, requireCanonical: false }) : undefined;
  return { ...headerToJson(header, hash), ...(body !== undefined && { size: toQuantity(encodeBlock(body.block).length) }) };
}
