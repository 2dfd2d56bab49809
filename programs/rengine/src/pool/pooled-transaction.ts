import { encodeTransaction, hashTransaction, recoverAuthority, type SignedTransaction } from "@rnode/protocol";
import type { PooledTransaction } from "@rnode/txpool";

/**
 * A transaction as the pool holds it. Its authorities are determined only when they are needed, because each takes a signature
 * recovery.
 */
export function pooledTransaction(
  transaction: SignedTransaction,
  sender: Uint8Array,
  { isLocal, arrivedAtSec }: Pick<PooledTransaction, "isLocal" | "arrivedAtSec">,
): PooledTransaction {
  let authorities: readonly Uint8Array[] | undefined;
  return {
    transaction,
    sender,
    encoded: encodeTransaction(transaction),
    hash: hashTransaction(transaction),
    isLocal,
    arrivedAtSec,
    get authorities() {
      if (transaction.type !== 0x04) return undefined;
      // An authorization with an invalid signature has no effect.
      authorities ??= transaction.authorizationList.flatMap((authorization) => recoverAuthority(authorization) ?? []);
      return authorities;
    },
  };
}
