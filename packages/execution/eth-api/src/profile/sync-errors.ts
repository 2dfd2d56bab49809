import type { RpcErrorBody } from "@rnode/jsonrpc";
import { toQuantity } from "@rnode/primitives";
import type { PoolWait } from "@rnode/txpool";

/** Error codes of `eth_sendRawTransactionSync`. Spec: EIP-7966 */
export const SYNC_TIMEOUT = 4;
const SYNC_NOT_READY = 5;
const SYNC_NONCE_GAP = 6;

/** Geth and Reth have no such errors: both keep the transaction and answer with a timeout. So both faces use the words of EIP-7966. */
export function notReady(wait: PoolWait, hash: string): RpcErrorBody {
  switch (wait.kind) {
    case "nonce-gap":
      return {
        code: SYNC_NONCE_GAP,
        message: `The transaction was not added to the mempool because of a nonce gap: the next nonce of its sender is ${wait.next}. Send that transaction first.`,
        data: toQuantity(wait.next),
      };
    case "queued":
      return {
        code: SYNC_NOT_READY,
        message:
          "The transaction was not added to the mempool because its sender has too many pending transactions already. Try again after the next block.",
        data: hash,
      };
  }
}
