import { addressShape, param } from "@rnode/jsonrpc";
import { bytesToHex, checksumAddress, toQuantity } from "@rnode/primitives";
import { feeCap, type PooledTransaction } from "@rnode/txpool";
import { PoolContentText } from "../feeds/pool-content.ts";
import { type JsonObject, transactionToJson } from "../json/transaction-json.ts";
import * as results from "../schemas/results.ts";
import { type ApiMethods, method } from "./method.ts";
import type { ReadServices } from "./services.ts";

export function txpoolMethods({ backend }: ReadServices): ApiMethods {
  const { profile } = backend;
  const addressText = (address: Uint8Array): string =>
    profile.txpool.hasChecksumAddresses ? checksumAddress(address) : bytesToHex(address);
  const byNonce = <T>(transactions: readonly PooledTransaction[], show: (pooled: PooledTransaction) => T): Record<string, T> =>
    Object.fromEntries(transactions.map((pooled) => [String(pooled.transaction.nonce), show(pooled)]));
  const asObject = ({ transaction, sender }: PooledTransaction): JsonObject =>
    transactionToJson(profile, transaction, sender, undefined);
  const content = new PoolContentText(addressText, (pooled) => JSON.stringify(asObject(pooled)));
  const summaries = new PoolContentText(addressText, ({ transaction: tx }) => {
    const recipient = tx.to === undefined ? "contract creation" : addressText(tx.to);
    return JSON.stringify(`${recipient}: ${tx.value} wei + ${tx.gasLimit} gas × ${feeCap(tx)} wei`);
  });
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
      handler: (_, { pool }) => content.of(() => pool.content()),
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
      handler: (_, { pool }) => summaries.of(() => pool.content()),
    }),
  };
}
