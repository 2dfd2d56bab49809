import { encodeTransaction, hashTransaction, recoverAuthority, type SignedTransaction } from "@rnode/protocol";
import type { PooledTransaction } from "@rnode/txpool";

/** A transaction as the pool holds it. Whose authorizations it holds is found out (a signature recovery each) when it is first asked for. */
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
      // A signature that is not valid authorizes nothing.
      authorities ??= transaction.authorizationList.flatMap((authorization) => recoverAuthority(authorization) ?? []);
      return authorities;
    },
  };
}
