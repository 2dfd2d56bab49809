import type { StoredBlock } from "@rnode/chain";
import { booleanShape, JsonText, optionalParam, type SubscriptionTable, subscription } from "@rnode/jsonrpc";
import { bytesToHex } from "@rnode/primitives";
import type { PooledTransaction } from "@rnode/txpool";
import type { ReadBackend } from "../backend/backend.ts";
import { headerToJson } from "../json/block-json.ts";
import { transactionToJson } from "../json/transaction-json.ts";
import { logsOfBlock, logTextsOfBlock } from "../logs/log-match.ts";
import { logCriteriaShape } from "../params/log-filter.ts";

export interface PendingFeed {
  onPending(listener: (transactions: readonly PooledTransaction[]) => void): () => void;
  /** Settles once listeners receive every transaction; undefined: they already do. */
  isListening?(): Promise<void> | undefined;
}

/** `eth_subscribe`. Spec: docs/protocol/04-rpc.md#blocks-logs-sync-fees */
export function ethSubscriptions(backend: ReadBackend, pool: PendingFeed): SubscriptionTable {
  const { chain, profile } = backend;
  return {
    eth: {
      newHeads: subscription({
        params: [],
        summary: "The header of each block that joins the canonical chain.",
        start: (_, sink) =>
          chain.onHeadChange(({ added }) => {
            for (const stored of added) sink.notify(headTextOf(stored));
          }),
      }),
      logs: subscription({
        params: [optionalParam("filter", logCriteriaShape)],
        summary: "Matching logs of new blocks; those of blocks that leave the chain come again, marked as removed.",
        start: ([filter], sink) => {
          const criteria = filter ?? { addresses: undefined, topics: [] };
          return chain.onHeadChange(({ removed, added }) => {
            for (const stored of removed) for (const log of logsOfBlock(stored, criteria, true)) sink.notify(log);
            for (const stored of added) for (const text of logTextsOfBlock(stored, criteria)) sink.notify(new JsonText(text));
          });
        },
      }),
      newPendingTransactions: subscription({
        params: [optionalParam("full", booleanShape)],
        summary: "Transactions that become executable in the pool: hashes, or objects when `full` is true.",
        start: ([full], sink) =>
          pool.onPending((transactions) => {
            for (const { transaction, sender, hash } of transactions) {
              sink.notify(full ? transactionToJson(profile, transaction, sender, undefined) : bytesToHex(hash));
            }
          }),
        isListening: () => pool.isListening?.(),
      }),
      syncing: subscription({
        params: [],
        summary: "Whether the node is syncing: it follows the rollup node block by block, so never.",
        start: (_, sink) => {
          sink.notify(false);
          return () => {};
        },
      }),
    },
  };
}

/** The header of a block as JSON, made once for all who are told. */
function headTextOf(stored: StoredBlock): JsonText {
  let text = headTexts.get(stored);
  if (text === undefined) {
    const { block, hash } = stored;
    headTexts.set(stored, (text = new JsonText(JSON.stringify(headerToJson(block.header, hash)))));
  }
  return text;
}
const headTexts = new WeakMap<StoredBlock, JsonText>();
