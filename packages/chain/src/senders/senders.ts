import { bytesToHex, type Hex, isCodedError, keccak256, LruCache } from "@rnode/primitives";
import {
  encodeTransaction,
  hashTransaction,
  recoverSender,
  type SignedTransaction,
  signingHash,
  type Transaction,
} from "@rnode/protocol";
import type { PreparedTransactions } from "../execute/block-execution.ts";
import { packSignature, SenderWorkers, SIGNATURE_BYTES } from "./sender-workers.ts";

export type SendersResult =
  | { readonly kind: "senders"; readonly senders: readonly Uint8Array[] }
  /** the first transaction whose signature gives no sender */
  | { readonly kind: "unrecoverable"; readonly index: number; readonly reason: string };

/** Who signed each transaction. Recovery costs 65 µs a transaction, so what is known is remembered. */
export interface SenderSource {
  /** Synchronous: recovers here what is not known. @param allowHighS signatures of before Homestead */
  sendersOf(transactions: readonly Transaction[], allowHighS: boolean): SendersResult;
  /** Tells of a sender that another part has already recovered (the pool). */
  remember(transactionHash: Uint8Array, sender: Uint8Array): void;
  /** Recovers in workers, so that `sendersOf` finds them soon after; never fails, because `sendersOf` does without. */
  recoverAhead(transactions: readonly Transaction[]): Promise<void>;
  /** rough; bounded by the capacity */
  readonly rememberedBytes: number;
  /** Encodings, hashes and senders of a block's transactions, made in workers where there are any. */
  prepare(transactions: readonly Transaction[]): Promise<PreparedTransactions>;
  close(): Promise<void>;
}

export interface SenderOptions {
  /** transactions remembered; the oldest are forgotten */
  readonly capacity?: number;
  /** threads for `recoverAhead`; 0: it does nothing */
  readonly workers?: number;
}

const DEFAULT_CAPACITY = 65_536;
/** Measured: a hash as text, 20 bytes, a map entry. */
const BYTES_PER_SENDER = 400;
/** Fewer are recovered faster here than handed over. */
const MIN_BATCH = 8;

export function createSenderCache(options: SenderOptions = {}): SenderSource {
  return new SenderCache(options);
}

class SenderCache implements SenderSource {
  readonly #senders: LruCache<Hex, Uint8Array>;
  readonly #workers: SenderWorkers | undefined;

  constructor({ capacity = DEFAULT_CAPACITY, workers = 0 }: SenderOptions) {
    this.#senders = new LruCache(capacity);
    this.#workers = workers > 0 ? new SenderWorkers(workers) : undefined;
  }

  get rememberedBytes(): number {
    return this.#senders.size * BYTES_PER_SENDER;
  }

  sendersOf(transactions: readonly Transaction[], allowHighS: boolean): SendersResult {
    const found: Uint8Array[] = [];
    for (const [index, transaction] of transactions.entries()) {
      if (transaction.type === 0x7e) {
        found.push(transaction.from);
        continue;
      }
      const hashHex = bytesToHex(hashTransaction(transaction));
      let sender = this.#senders.get(hashHex);
      if (sender === undefined) {
        try {
          sender = recoverSender(transaction, { allowHighS });
        } catch (error) {
          if (!isCodedError(error, "tx/")) throw error;
          return { kind: "unrecoverable", index, reason: error.code };
        }
        this.#senders.set(hashHex, sender);
      }
      found.push(sender);
    }
    return { kind: "senders", senders: found };
  }

  remember(transactionHash: Uint8Array, sender: Uint8Array): void {
    this.#senders.set(bytesToHex(transactionHash), sender);
  }

  async recoverAhead(transactions: readonly Transaction[]): Promise<void> {
    const workers = this.#workers;
    if (workers === undefined) return;
    const wanted: { readonly hashHex: Hex; readonly transaction: SignedTransaction }[] = [];
    for (const transaction of transactions) {
      if (transaction.type === 0x7e || transaction.signature === undefined) continue;
      const hashHex = bytesToHex(hashTransaction(transaction));
      if (!this.#senders.has(hashHex)) wanted.push({ hashHex, transaction });
    }
    if (wanted.length < MIN_BATCH) return;
    const packed = new Uint8Array(wanted.length * SIGNATURE_BYTES);
    for (const [index, { transaction }] of wanted.entries()) {
      packSignature(packed, index, signingHash(transaction), transaction.signature!);
    }
    const senders = await workers.recover(packed);
    for (const [index, { hashHex }] of wanted.entries()) {
      const sender = senders?.[index];
      if (sender !== undefined) this.#senders.set(hashHex, sender);
    }
  }

  async prepare(transactions: readonly Transaction[]): Promise<PreparedTransactions> {
    const encoded = transactions.map(encodeTransaction);
    const made = encoded.length < MIN_BATCH ? undefined : await this.#workers?.prepare(encoded);
    if (made === undefined) return { encoded, hashes: encoded.map((bytes) => keccak256(bytes)), senders: undefined };
    const senders = made.senders.every((sender) => sender !== undefined) ? made.senders : undefined;
    return { encoded, hashes: made.hashes, senders };
  }

  async close(): Promise<void> {
    await this.#workers?.close();
  }
}
