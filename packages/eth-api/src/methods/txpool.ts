import { addressShape, param } from "@rnode/jsonrpc";
import { bytesToHex, checksumAddress, toQuantity } from "@rnode/primitives";
import { feeCap, type PooledTransaction } from "@rnode/txpool";
import { type JsonObject, transactionToJson } from "../json/transaction-json.ts";
import * as results from "../schemas/results.ts";
import { type ApiMethods, method } from "./method.ts";
import type { ReadServices, WriteServices } from "./services.ts";

export function txpoolMethods({ backend }: ReadServices): ApiMethods {
  const { profile } = backend;
  const addressText = (address: Uint8Array): string =>
    profile.txpool.hasChecksumAddresses ? checksumAddress(address) : bytesToHex(address);
  const byNonce = <T>(transactions: readonly PooledTransaction[], show: (pooled: PooledTransaction) => T): Record<string, T> =>
    Object.fromEntries(transactions.map((pooled) => [String(pooled.transaction.nonce), show(pooled)]));
  const asObject = ({ transaction, sender }: PooledTransaction): JsonObject =>
    transactionToJson(profile, transaction, sender, undefined);
  const bySender = <T>(pool: WriteServices["pool"], show: (pooled: PooledTransaction) => T) => {
    const pending: Record<string, Record<string, T>> = {};
    const queued: Record<string, Record<string, T>> = {};
    for (const content of pool.content()) {
      const key = addressText(content.sender);
      if (content.pending.length > 0) pending[key] = byNonce(content.pending, show);
      if (content.queued.length > 0) queued[key] = byNonce(content.queued, show);
    }
    return { pending, queued };
  };
  return {
    txpool_status: method({
      runs: "writer",
      result: results.poolStatus,
      params: [],
      handler: (_, { pool }) => {
        const { pending, queued } = pool.counts();
        return { pending: toQuantity(pending), queued: toQuantity(queued) };
      },
    }),
    txpool_content: method({
      runs: "writer",
      result: results.poolContent,
      params: [],
      handler: (_, { pool }) => bySender(pool, asObject),
    }),
    txpool_contentFrom: method({
      runs: "writer",
      result: results.poolContentOfSender,
      params: [param("address", addressShape)],
      handler: ([address], { pool }) => {
        for (const { pending, queued } of pool.content(address)) {
          return { pending: byNonce(pending, asObject), queued: byNonce(queued, asObject) };
        }
        return { pending: {}, queued: {} };
      },
    }),
    txpool_inspect: method({
      runs: "writer",
      result: results.poolSummary,
      params: [],
      handler: (_, { pool }) =>
        bySender(pool, ({ transaction: tx }) => {
          const recipient = tx.to === undefined ? "contract creation" : addressText(tx.to);
          return `${recipient}: ${tx.value} wei + ${tx.gasLimit} gas × ${feeCap(tx)} wei`;
        }),
    }),
  };
}
