import type { StoredBlock } from "@rnode/chain";
import { booleanShape, JsonText, optionalParam, rpcErrorOf, type SubscriptionTable, subscription } from "@rnode/jsonrpc";
import { bytesToHex } from "@rnode/primitives";
import type { PooledTransaction } from "@rnode/txpool";
import type { ReadBackend } from "../backend/backend.ts";
import { madeOnce } from "../backend/made-once.ts";
import { headerToJson } from "../json/block-json.ts";
import { transactionToJson } from "../json/transaction-json.ts";
import { logsOfBlock, logTextsOfBlock } from "../logs/log-match.ts";
import { checkFilterRange } from "../logs/log-query.ts";
import { ALL_LOGS, isWithinRange, logFilterShape } from "../params/log-filter.ts";
import { receiptFilterShape } from "../params/receipt-filter.ts";
import { partSubscriptions } from "./part-subscriptions.ts";
import { ReceiptNotices } from "./receipt-notices.ts";
import { type SyncFeed, syncNotice } from "./sync-feed.ts";

export interface PendingFeed {
  onPending(listener: (transactions: readonly PooledTransaction[]) => void): () => void;
  /** Settles once listeners receive every transaction; undefined: they already do. */
  isListening?(): Promise<void> | undefined;
}

/** `eth_subscribe`. Spec: docs/protocol/04-rpc.md#blocks-logs-sync-fees */
export function ethSubscriptions(
  backend: ReadBackend,
  pool: PendingFeed,
  sync: Pick<SyncFeed, "state" | "onChange">,
): SubscriptionTable {
  const { chain, profile } = backend;
  const receipts = new ReceiptNotices(backend);
  const transactionTextOf = madeOnce(
    ({ transaction, sender }: PooledTransaction) =>
      new JsonText(JSON.stringify(transactionToJson(profile, transaction, sender, undefined))),
  );
  return {
    eth: {
      newHeads: subscription({
        params: [],
        summary: "The header of each block that joins the canonical chain.",
        start: (_, sink) =>
          chain.onHeadChange(({ added }) => {
            if (added.length > 0) sink.notifyEach(() => added.map(headTextOf));
          }),
      }),
      logs: subscription({
        params: [optionalParam("filter", logFilterShape)],
        summary: "Matching logs of new blocks; those of blocks that leave the chain come again, marked as removed.",
        start: ([filter = ALL_LOGS], sink) => {
          checkFilterRange(backend, filter);
          const isWanted = ({ block }: StoredBlock): boolean =>
            !profile.logs.checksFilterRange || isWithinRange(filter, block.header.number);
          return chain.onHeadChange(({ removed, added }) => {
            sink.notifyEach(function* () {
              for (const stored of removed.filter(isWanted)) yield* logsOfBlock(stored, filter, true);
              for (const stored of added.filter(isWanted))
                for (const text of logTextsOfBlock(stored, filter)) yield new JsonText(text);
            });
          });
        },
      }),
      newPendingTransactions: subscription({
        params: [optionalParam("full", booleanShape)],
        summary: "Transactions that become executable in the pool: hashes, or objects when `full` is true.",
        start: ([full], sink) =>
          pool.onPending((transactions) => {
            sink.notifyEach(() => transactions.map(full ? transactionTextOf : hashTextOf));
          }),
        isListening: () => pool.isListening?.(),
      }),
      transactionReceipts: subscription({
        params: [optionalParam("filter", receiptFilterShape)],
        summary:
          "For each block that joins the canonical chain, the receipts of its transactions in one array: of all, or of those whose hashes are given. No notification for a block without any.",
        start: ([hashes], sink) => {
          const limit = profile.rpc.maxReceiptHashes;
          if (hashes !== undefined && hashes.length > limit) throw rpcErrorOf(profile.errors.tooManyReceiptHashes(limit));
          const wanted = hashes && new Set(hashes.map((hash) => bytesToHex(hash)));
          return chain.onHeadChange(({ added }) => {
            if (added.length > 0) sink.notifyEach(() => added.flatMap((stored) => receipts.ofBlock(stored, wanted) ?? []));
          });
        },
      }),
      ...(backend.pending !== undefined && partSubscriptions(backend, backend.pending)),
      syncing: subscription({
        params: [],
        summary: "Whether the node is syncing from peers: at first, and when that changes.",
        start: (_, sink) => {
          sink.notify(syncNotice(profile, sync.state));
          return sync.onChange((state) => sink.notify(syncNotice(profile, state)));
        },
      }),
    },
  };
}

const headTextOf = madeOnce((stored: StoredBlock) => new JsonText(JSON.stringify(headerToJson(stored.block.header, stored.hash))));
const hashTextOf = madeOnce(({ hash }: PooledTransaction) => new JsonText(`"${bytesToHex(hash)}"`));
