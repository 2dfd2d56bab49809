import type { DevPool } from "@rnode/dev-chain";
import { bytesToHex, equalBytes } from "@rnode/primitives";
import type { PoolService } from "../pool/pool-service.ts";

/** The transaction pool as a chain that makes its own blocks sees it. */
export function devPoolOf(service: PoolService): DevPool {
  const { pool } = service;
  const hashesOf = (sender?: Uint8Array): Uint8Array[] =>
    [...pool.content(sender)].flatMap(({ pending, queued }) => [...pending, ...queued].map(({ hash }) => hash));
  return {
    hasExecutable: (baseFeeWei) => pool.best(baseFeeWei).next() !== undefined,
    offerOf(hash) {
      const sender = pool.get(hash)?.sender;
      const [content] = sender === undefined ? [] : pool.content(sender);
      const next = content?.pending[0];
      if (next === undefined || !equalBytes(next.hash, hash)) return undefined;
      const { transaction } = next;
      const maxFeeWei = "maxFeePerGas" in transaction ? transaction.maxFeePerGas : transaction.gasPrice;
      return { gasLimit: transaction.gasLimit, maxFeeWei };
    },
    pending: () => [...pool.content()].flatMap(({ pending }) => pending),
    sidecars: () => service.sidecars(),
    insert: (transaction, sender) => service.insert(transaction, sender),
    remove(hash) {
      const isThere = pool.get(hash) !== undefined;
      pool.remove(hash);
      return isThere;
    },
    clear(sender) {
      for (const hash of hashesOf(sender)) pool.remove(hash);
    },
    hashes: () => hashesOf().map(bytesToHex),
  };
}
