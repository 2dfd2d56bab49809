import type { BlockSelector, StoredBlock } from "@rnode/chain";
import { addressShape, hashShape, numberShape, optionalParam, param, type Shape, shape } from "@rnode/jsonrpc";
import { bytesToHex, EMPTY_KECCAK, equalBytes, toQuantity } from "@rnode/primitives";
import { hashTransaction } from "@rnode/protocol";
import type { StateView } from "@rnode/storage";
import { requireState } from "../backend/backend.ts";
import { sealed } from "../backend/pending-view.ts";
import type { Work } from "../backend/work.ts";
import { gasFees, otsBlock, otsReceipts } from "../json/ots-json.ts";
import type { JsonObject } from "../json/transaction-json.ts";
import { blockNumberShape, LATEST } from "../params/block-selector.ts";
import { numberOrQuantityShape } from "../params/number-or-quantity.ts";
import * as results from "../schemas/ots-results.ts";
import { header as headerResult } from "../schemas/results.ts";
import { newFrameTracer, type PlacedFrame } from "../tracing/frame-tracer.ts";
import { findTraceableTransaction, requireTraceable } from "../tracing/traceable-block.ts";
import { shownHeader } from "./eth-blocks.ts";
import { findBySenderAndNonce } from "./eth-lookups.ts";
import { type ApiMethods, method } from "./method.ts";
import { searchTransactions } from "./ots-search.ts";
import type { ReadServices } from "./services.ts";
import { firstBlockWith } from "./state-search.ts";

/** That of Erigon and Reth: Otterscan asks for at least 8. */
const API_LEVEL = 8;
/** as for Erigon */
const MAX_PAGE = 25;
const SELECTOR_BYTES = 4;
/** Kinds of internal operations. */
const OPERATIONS = { call: 0, selfdestruct: 1, create: 2, create2: 3 } as const;

/** A block by number, also a JSON number, or by tag. */
const lenientBlockShape: Shape<BlockSelector> = shape({ oneOf: [blockNumberShape.schema, numberShape.schema] }, (value) =>
  typeof value === "number" ? { kind: "number", number: numberOrQuantityShape.parse(value) } : blockNumberShape.parse(value),
);
/** Larger ones are cut, as a page may be shorter. */
const pageSizeShape: Shape<number> = shape(numberOrQuantityShape.schema, (value) =>
  Math.min(Math.max(1, numberOrQuantityShape.parse(value)), MAX_PAGE),
);

/** A chain after the merge issues nothing in its blocks. */
const NO_ISSUANCE = { blockReward: "0x0", uncleReward: "0x0", issuance: "0x0" };

function hasCode(state: StateView, address: Uint8Array): boolean {
  const account = state.readAccount(address);
  return account !== undefined && !equalBytes(account.codeHash, EMPTY_KECCAK);
}

/** What the explorer Otterscan asks for, compatible with Erigon. Spec: https://docs.otterscan.io/api-docs/ots-api.html */
export function otsMethods(services: ReadServices): ApiMethods {
  const { backend, traces } = services;
  const { chain, store } = backend;
  const transaction = param("hash", hashShape);
  const framesOf = async (work: Work, hash: Uint8Array): Promise<readonly PlacedFrame[] | undefined> => {
    const found = findTraceableTransaction(backend, hash);
    if (found === undefined) return undefined;
    const [trace] = await traces.traceBlock(work, found.stored, { newTracer: newFrameTracer, only: found.index });
    return trace!.result as PlacedFrame[];
  };
  const details = (stored: StoredBlock | undefined): JsonObject | null => {
    if (stored === undefined) return null;
    const { transactions: _, ...block } = otsBlock(backend, stored, false);
    return { block, issuance: NO_ISSUANCE, totalFees: gasFees(otsReceipts(backend, stored)) };
  };
  const header = (selector: BlockSelector): JsonObject | null => {
    const found = chain.headerOf(sealed(selector));
    return found === undefined ? null : shownHeader(backend, found);
  };
  const search = (isForward: boolean) =>
    method({
      runs: "reader",
      cost: "trace",
      result: results.search,
      params: [param("address", addressShape), param("blockNumber", numberOrQuantityShape), param("pageSize", pageSizeShape)],
      summary: `Transactions that name or call an address, ${isForward ? "after" : "before"} a block, newest first; 0: from the ${isForward ? "first" : "newest"} block.`,
      handler: ([address, number, pageSize], work) =>
        traces.inSlot(work, (slot) => searchTransactions(services, slot, { address, number, pageSize, isForward })),
    });

  return {
    ots_getApiLevel: method({ runs: "reader", cost: "cheap", result: results.level, params: [], handler: () => API_LEVEL }),
    ots_getHeaderByNumber: method({
      runs: "reader",
      cost: "cheap",
      result: headerResult,
      params: [param("block", lenientBlockShape)],
      handler: ([selector]) => header(selector),
    }),
    erigon_getHeaderByNumber: method({
      runs: "reader",
      cost: "cheap",
      result: headerResult,
      params: [param("block", lenientBlockShape)],
      summary: "The same under the name with which Otterscan tests a connection.",
      handler: ([selector]) => header(selector),
    }),
    ots_hasCode: method({
      runs: "reader",
      cost: "cheap",
      result: results.hasCode,
      params: [param("address", addressShape), optionalParam("block", lenientBlockShape)],
      handler: ([address, selector]) => hasCode(requireState(backend, selector ?? LATEST).state, address),
    }),
    ots_getInternalOperations: method({
      runs: "reader",
      cost: "trace",
      result: results.operations,
      params: [transaction],
      summary: "Transfers of ether, creations and self-destructs inside a transaction, without those that were undone.",
      handler: async ([hash], work) => {
        const frames = (await framesOf(work, hash)) ?? [];
        return frames.flatMap(({ frame: { kind, from, to, value }, depth, isUndone }) => {
          const isListed = depth > 0 && !isUndone && kind in OPERATIONS && (kind !== "call" || value > 0n);
          if (!isListed || to === undefined) return [];
          const type = OPERATIONS[kind as keyof typeof OPERATIONS];
          return [{ type, from: bytesToHex(from), to: bytesToHex(to), value: toQuantity(value) }];
        });
      },
    }),
    ots_getTransactionError: method({
      runs: "reader",
      cost: "trace",
      result: results.revertOutput,
      params: [transaction],
      summary: "The output of a transaction that reverted; 0x for any other one.",
      handler: async ([hash], work) => {
        const root = (await framesOf(work, hash))?.[0]?.frame;
        return root === undefined ? null : root.halt === "revert" ? bytesToHex(root.output) : "0x";
      },
    }),
    ots_traceTransaction: method({
      runs: "reader",
      cost: "trace",
      result: results.messages,
      params: [transaction],
      summary: "All messages of a transaction, in the order of their beginning.",
      handler: async ([hash], work) =>
        (await framesOf(work, hash))?.map(({ frame: { kind, from, to, value, input, output }, depth }) => ({
          type: kind.toUpperCase(),
          depth,
          from: bytesToHex(from),
          to: to === undefined ? null : bytesToHex(to),
          value: kind === "delegatecall" || kind === "staticcall" ? null : toQuantity(value),
          input: bytesToHex(input),
          output: bytesToHex(output),
        })) ?? null,
    }),
    ots_getBlockDetails: method({
      runs: "reader",
      cost: "search",
      result: results.details,
      params: [param("block", lenientBlockShape)],
      summary: "A block without its transactions and bloom, with their number, and the fees for gas that they paid.",
      handler: ([selector]) => details(chain.resolve(sealed(selector))),
    }),
    ots_getBlockDetailsByHash: method({
      runs: "reader",
      cost: "search",
      result: results.details,
      params: [param("hash", hashShape)],
      summary: "The same by hash.",
      handler: ([hash]) => details(chain.resolve({ kind: "hash", hash, requireCanonical: false })),
    }),
    ots_getBlockTransactions: method({
      runs: "reader",
      cost: "search",
      result: results.blockTransactions,
      params: [
        param("block", lenientBlockShape),
        param("pageNumber", numberOrQuantityShape),
        param("pageSize", numberOrQuantityShape),
      ],
      summary: "A page of a block's transactions, the last ones first, with receipts without logs.",
      handler: ([selector, page, pageSize]) => {
        const stored = chain.resolve(sealed(selector));
        if (stored === undefined) return null;
        const end = Math.max(0, stored.block.transactions.length - page * pageSize);
        const start = Math.max(0, end - pageSize);
        const block = otsBlock(backend, stored, true);
        const shown = (block.transactions as JsonObject[]).slice(start, end).map((own) => ({
          ...own,
          input: (own.input as string).slice(0, 2 + 2 * SELECTOR_BYTES),
        }));
        return { fullblock: { ...block, transactions: shown }, receipts: otsReceipts(backend, stored).slice(start, end) };
      },
    }),
    ots_searchTransactionsBefore: search(false),
    ots_searchTransactionsAfter: search(true),
    ots_getTransactionBySenderAndNonce: method({
      runs: "reader",
      cost: "search",
      result: results.transactionHash,
      params: [param("sender", addressShape), param("nonce", numberOrQuantityShape)],
      handler: ([sender, nonce]) => {
        const found = findBySenderAndNonce(backend, sender, BigInt(nonce));
        return found === undefined ? null : bytesToHex(hashTransaction(found.stored.block.transactions[found.index]!));
      },
    }),
    ots_getContractCreator: method({
      runs: "reader",
      cost: "trace",
      result: results.creator,
      params: [param("address", addressShape)],
      summary: "The transaction and the account that created a contract; null for none, and for one of the genesis.",
      handler: async ([address], work) => {
        const number = firstBlockWith(backend, (state) => hasCode(state, address));
        if (number === undefined || number === store.retainedHistory()?.firstBlock) return null;
        const stored = requireTraceable(backend, { kind: "number", number });
        for (const { hash, result } of await traces.traceBlock(work, stored, { newTracer: newFrameTracer })) {
          const creation = (result as PlacedFrame[]).find(
            ({ frame: { kind, to }, isUndone }) =>
              !isUndone && (kind === "create" || kind === "create2") && to !== undefined && equalBytes(to, address),
          );
          if (creation !== undefined) return { hash: bytesToHex(hash), creator: bytesToHex(creation.frame.from) };
        }
        return null;
      },
    }),
  };
}
