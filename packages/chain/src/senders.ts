import { bytesToHex, type Hex, isCodedError } from "@rnode/primitives";
import { hashTransaction, recoverSender, type Transaction } from "@rnode/protocol";

export type SendersResult =
  | { readonly kind: "senders"; readonly senders: readonly Uint8Array[] }
  /** the first transaction whose signature gives no sender */
  | { readonly kind: "unrecoverable"; readonly index: number; readonly reason: string };

/** Who signed each transaction. Recovery costs 65 µs a transaction, so what is known is remembered. */
export interface SenderSource {
  /** @param allowHighS signatures of before Homestead */
  sendersOf(transactions: readonly Transaction[], allowHighS: boolean): SendersResult;
  /** Tells of a sender that another part has already recovered (the pool). */
  remember(transactionHash: Uint8Array, sender: Uint8Array): void;
}

const DEFAULT_CAPACITY = 65_536;

/** Recovers on this thread; forgets the oldest beyond `capacity` transactions. */
export function createSenderCache(capacity: number = DEFAULT_CAPACITY): SenderSource {
  const senders = new Map<Hex, Uint8Array>();
  const remember = (hashHex: Hex, sender: Uint8Array): void => {
    if (senders.size >= capacity && !senders.has(hashHex)) {
      const oldest = senders.keys().next();
      if (!oldest.done) senders.delete(oldest.value);
    }
    senders.set(hashHex, sender);
  };
  return {
    sendersOf(transactions, allowHighS) {
      const found: Uint8Array[] = [];
      for (const [index, transaction] of transactions.entries()) {
        if (transaction.type === 0x7e) {
          found.push(transaction.from);
          continue;
        }
        const hashHex = bytesToHex(hashTransaction(transaction));
        let sender = senders.get(hashHex);
        if (sender === undefined) {
          try {
            sender = recoverSender(transaction, { allowHighS });
          } catch (error) {
            if (!isCodedError(error, "tx/")) throw error;
            return { kind: "unrecoverable", index, reason: error.code };
          }
          remember(hashHex, sender);
        }
        found.push(sender);
      }
      return { kind: "senders", senders: found };
    },
    remember: (hash, sender) => remember(bytesToHex(hash), sender),
  };
}
