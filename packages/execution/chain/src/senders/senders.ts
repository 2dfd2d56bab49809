import { setImmediate } from "node:timers/promises";
import { bytesToHex, type Hex, LruCache } from "@rnode/primitives";
import { type Block, encodeTransaction, hashTransaction, recoverEncodedSenders, type Transaction } from "@rnode/protocol";
import type { ThreadOverrides } from "@rnode/threads";
import { type KnownParts, PreparedBlock } from "../prepared-block.ts";
import { findSenders, type SenderLookup, type SendersResult } from "./find-senders.ts";
import { MIN_BATCH, SenderBatches } from "./sender-batches.ts";
import { SenderWorkers } from "./sender-workers.ts";

/** Provides the signer of each transaction. A recovery costs 65 µs per transaction, so known senders are remembered. */
export interface SenderSource extends SenderLookup {
  /** Remembers a sender that another part, such as the pool, has already recovered. */
  remember(transactionHash: Uint8Array, sender: Uint8Array): void;
  /**
   * Recovers unknown senders in workers and, while the caller waits, in this thread: half the time on two cores. The caller may
   * do other work before it awaits the result.
   *
   * @param isWaiting false: the caller does long other work, so this thread leaves all recoveries to the workers, if there are
   * any
   * @returns undefined: a sender cannot be recovered under the current rules; `sendersOf` gives the transaction and the reason
   */
  recoverAhead(transactions: readonly Transaction[], isWaiting?: boolean): Promise<readonly Uint8Array[] | undefined>;
  /** rough size; bounded by the capacity */
  readonly rememberedBytes: number;
  /** Prepares a block with the hashes and senders of its transactions, which workers compute if there are any. */
  prepare(block: Block, known?: Pick<KnownParts, "transactionsRoot">): Promise<PreparedBlock>;
  close(): Promise<void>;
}

export interface SenderOptions {
  /** how many transactions are remembered; the oldest are forgotten */
  readonly capacity?: number;
  /** number of threads */
  readonly workers?: number;
  readonly threads?: ThreadOverrides | undefined;
}

const DEFAULT_CAPACITY = 65_536;
/** Measured: a hash as text, 20 bytes, and a map entry. */
const BYTES_PER_SENDER = 400;
/** How many are recovered here in one turn of the event loop: some 5 ms. */
const TURN = 100;

export function createSenderCache(options: SenderOptions = {}): SenderSource {
  return new SenderCache(options);
}

class SenderCache implements SenderSource {
  readonly #senders: LruCache<Hex, Uint8Array>;
  readonly #workers: SenderWorkers | undefined;
  readonly #batches: SenderBatches | undefined;
  readonly #workerCount: number;

  constructor({ capacity = DEFAULT_CAPACITY, workers = 0, threads }: SenderOptions) {
    this.#senders = new LruCache(capacity);
    this.#workerCount = workers;
    this.#workers = workers > 0 ? new SenderWorkers(workers, threads) : undefined;
    this.#batches = this.#workers && new SenderBatches(this.#workers);
  }

  get rememberedBytes(): number {
    return this.#senders.size * BYTES_PER_SENDER;
  }

  sendersOf(transactions: readonly Transaction[], allowHighS: boolean): SendersResult {
    return findSenders(transactions, allowHighS, this.#senders);
  }

  remember(transactionHash: Uint8Array, sender: Uint8Array): void {
    this.#senders.set(bytesToHex(transactionHash), sender);
  }

  async recoverAhead(transactions: readonly Transaction[], isWaiting = true): Promise<readonly Uint8Array[] | undefined> {
    const senders = transactions.map((transaction) => this.#knownSenderOf(transaction));
    const unknown = Array.from(senders.keys()).filter((index) => senders[index] === undefined);
    const share = isWaiting || this.#workerCount === 0 ? Math.ceil(unknown.length / (this.#workerCount + 1)) : 0;
    // The last ones are recovered in this thread.
    const here = unknown.length < MIN_BATCH ? unknown : unknown.splice(unknown.length - share);
    const there = here === unknown ? [] : unknown;
    const answer =
      there.length === 0 ? undefined : this.#workers?.prepare(there.map((index) => encodeTransaction(transactions[index]!)));
    await Promise.resolve(); // the caller's work comes first
    const recover = (indices: readonly number[]): void => {
      const found = recoverEncodedSenders(indices.map((index) => encodeTransaction(transactions[index]!)));
      for (const [place, index] of indices.entries()) senders[index] = found[place];
    };
    for (let at = 0; at < here.length; at += TURN) {
      if (at > 0) await setImmediate();
      recover(here.slice(at, at + TURN));
    }
    const made = await answer;
    if (made === undefined) recover(there);
    else for (const [place, index] of there.entries()) senders[index] = made.senders[place];
    return senders.every((sender) => sender !== undefined) ? senders : undefined;
  }

  #knownSenderOf(transaction: Transaction): Uint8Array | undefined {
    return transaction.type === 0x7e ? transaction.from : this.#senders.get(bytesToHex(hashTransaction(transaction)));
  }

  async prepare(block: Block, known: Pick<KnownParts, "transactionsRoot"> = {}): Promise<PreparedBlock> {
    const encoded = block.transactions.map(encodeTransaction);
    const made = encoded.length === 0 ? undefined : await this.#batches?.prepare(encoded);
    if (made === undefined) return new PreparedBlock(block, known);
    const senders = made.senders.every((sender) => sender !== undefined) ? made.senders : undefined;
    return new PreparedBlock(block, { ...known, transactionHashes: made.hashes, senders });
  }

  async close(): Promise<void> {
    await this.#workers?.close();
  }
}
