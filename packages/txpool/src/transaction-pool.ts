import { bytesToHex, type Hex } from "@rnode/primitives";
import { effectiveTip, feeCap, isReplacementPriced, tipCap } from "./fees.ts";
import { Heap } from "./heap.ts";
import {
  type AddResult,
  DEFAULT_POOL_LIMITS,
  type PooledTransaction,
  type PoolHead,
  type PoolLimits,
  type PoolRefusal,
} from "./pool-types.ts";
import { SenderQueue } from "./sender-queue.ts";

const SLOT_BYTES = 32 * 1024;
const slotsOf = (pooled: PooledTransaction): number => Math.ceil(pooled.encoded.length / SLOT_BYTES);

/** Transactions by descending effective tip, earlier arrivals first; nonces of one sender ascend. */
export interface BestPooledTransactions {
  next(): PooledTransaction | undefined;
  /** Leaves out what remains of the sender of the last transaction. */
  skipSender(): void;
}

export interface SenderContent {
  readonly sender: Uint8Array;
  readonly pending: readonly PooledTransaction[];
  readonly queued: readonly PooledTransaction[];
}

export type PoolListener = (pending: readonly PooledTransaction[]) => void;

/**
 * Transactions waiting for a block, under Geth's rules. Deterministic: the head, the clock and the accounts come in.
 * Spec: protocol/01 §15, protocol/04 §9.2
 */
export class TransactionPool {
  readonly #limits: PoolLimits;
  #head: PoolHead;
  readonly #byHash = new Map<Hex, PooledTransaction>();
  readonly #senders = new Map<Hex, SenderQueue>();
  readonly #listeners = new Set<PoolListener>();
  /** order of arrival, for ties */
  readonly #sequence = new WeakMap<PooledTransaction, number>();
  #nextSequence = 0;
  #slots = 0;
  /** cheapest first; holds dead entries, skipped when met */
  #cheapest: Heap<PooledTransaction>;

  constructor(head: PoolHead, limits: Partial<PoolLimits> = {}) {
    this.#limits = { ...DEFAULT_POOL_LIMITS, ...limits };
    this.#head = head;
    this.#cheapest = this.#emptyPriceHeap();
  }

  get size(): number {
    return this.#byHash.size;
  }

  counts(): { readonly pending: number; readonly queued: number } {
    let pending = 0;
    for (const queue of this.#senders.values()) pending += queue.pendingCount;
    return { pending, queued: this.#byHash.size - pending };
  }

  get(hash: Uint8Array): PooledTransaction | undefined {
    return this.#byHash.get(bytesToHex(hash));
  }

  /** Nonce for the sender's next transaction, pending ones counted; undefined when the pool holds none of its transactions. */
  nextNonce(sender: Uint8Array): bigint | undefined {
    return this.#senders.get(bytesToHex(sender))?.nextNonce;
  }

  /** Every sender's transactions, or those of one. */
  *content(sender?: Uint8Array): Iterable<SenderContent> {
    for (const [address, queue] of this.#senders) {
      const first = queue.pendingAt(0) ?? queue.queued[0];
      if (first === undefined || (sender !== undefined && bytesToHex(sender) !== address)) continue;
      yield { sender: first.sender, pending: queue.pending, queued: queue.queued };
    }
  }

  /** Told of transactions when they become executable. */
  onPending(listener: PoolListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Checks a transaction and takes it in. A refusal changes nothing. */
  add(pooled: PooledTransaction): AddResult {
    const refused = (reason: PoolRefusal, data: Readonly<Record<string, bigint>> = {}): AddResult => ({
      kind: "refused",
      reason,
      data,
    });
    if (this.#byHash.has(bytesToHex(pooled.hash))) return refused("already-known");
    const fault = this.#checkAlone(pooled);
    if (fault !== undefined) return refused(fault.reason, fault.data);

    const { transaction } = pooled;
    const address = bytesToHex(pooled.sender);
    const account = this.#head.readAccount(pooled.sender);
    if (account.isContract) return refused("sender-not-eoa");
    if (transaction.nonce < account.nonce) return refused("nonce-too-low", { next: account.nonce, nonce: transaction.nonce });

    const queue = this.#senders.get(address) ?? new SenderQueue(account, this.#head);
    const cost = queue.costOf(pooled);
    const beside = queue.pendingCostBeside(transaction.nonce);
    const isGapped = transaction.nonce > queue.nextNonce;
    const needed = isGapped ? cost : beside + cost;
    if (needed > account.balance) {
      return refused("insufficient-funds", {
        balance: account.balance,
        cost,
        queued: isGapped ? 0n : beside,
        overshot: needed - account.balance,
      });
    }

    const old = queue.withNonce(transaction.nonce);
    if (old !== undefined) {
      if (!isReplacementPriced(old.transaction, transaction, this.#limits.priceBumpPercent))
        return refused("replacement-underpriced");
    } else if (transaction.nonce > queue.nextNonce || queue.pendingCount >= this.#limits.maxPendingPerSender) {
      const queued = queue.size - queue.pendingCount;
      if (queued >= this.#limits.maxQueuedPerSender) return refused("account-limit-exceeded", { pooled: BigInt(queue.size) });
    }
    if (!this.#makeRoom(pooled, old)) return refused("pool-full");

    if (old !== undefined) this.#forget(old);
    queue.put(pooled);
    this.#senders.set(address, queue);
    this.#byHash.set(bytesToHex(pooled.hash), pooled);
    this.#slots += slotsOf(pooled);
    if (!this.#sequence.has(pooled)) this.#sequence.set(pooled, this.#nextSequence++);
    if (!pooled.isLocal) this.#cheapest.push(pooled);
    const promoted = queue.promote(this.#limits.maxPendingPerSender);
    this.#announce(promoted.filter((one) => one === pooled || one.transaction.nonce > transaction.nonce));
    return { kind: "added", pooled, isPending: promoted.includes(pooled), replaced: old };
  }

  remove(hash: Uint8Array): void {
    const pooled = this.get(hash);
    if (pooled !== undefined) this.#drop(pooled);
  }

  /**
   * Moves to a new head: mined and impossible transactions leave, what a reorganisation took out of the chain comes back.
   *
   * @param reinjected transactions of blocks that left the canonical chain
   * @param nowSec the caller's clock, for queued transactions that have waited too long
   */
  reset(head: PoolHead, reinjected: readonly PooledTransaction[], nowSec: number): void {
    this.#head = head;
    this.#cheapest = this.#emptyPriceHeap();
    const announced: PooledTransaction[] = [];
    for (const [address, queue] of this.#senders) {
      const wasPending = new Set(queue.pending);
      const first = queue.pendingAt(0) ?? queue.queued[0];
      const dropped = first === undefined ? [] : queue.reset(head, head.readAccount(first.sender));
      for (const pooled of dropped) this.#forget(pooled);
      for (const pooled of queue.promote(this.#limits.maxPendingPerSender)) if (!wasPending.has(pooled)) announced.push(pooled);
      for (const pooled of queue.queued) {
        if (nowSec - pooled.arrivedAtSec <= this.#limits.queuedLifetimeSec) continue;
        queue.remove(pooled);
        this.#forget(pooled);
      }
      if (queue.size === 0) this.#senders.delete(address);
    }
    for (const pooled of this.#byHash.values()) if (!pooled.isLocal) this.#cheapest.push(pooled);
    this.#announce(announced);
    for (const pooled of reinjected) this.add(pooled);
  }

  /** Executable transactions that pay `baseFeeWei`, best tip first, from the pool as it is now. */
  best(baseFeeWei: bigint): BestPooledTransactions {
    interface Candidate {
      readonly queue: readonly PooledTransaction[];
      readonly index: number;
      readonly tip: bigint;
      readonly sequence: number;
    }
    const heap = new Heap<Candidate>((a, b) => (a.tip === b.tip ? a.sequence < b.sequence : a.tip > b.tip));
    const offer = (queue: readonly PooledTransaction[], index: number) => {
      const pooled = queue[index];
      if (pooled === undefined) return;
      const tip = effectiveTip(pooled.transaction, baseFeeWei);
      if (tip >= 0n) heap.push({ queue, index, tip, sequence: this.#sequence.get(pooled) ?? 0 });
    };
    for (const queue of this.#senders.values()) if (queue.pendingCount > 0) offer(queue.pending, 0);
    let last: Candidate | undefined;
    return {
      next: () => {
        if (last !== undefined) offer(last.queue, last.index + 1);
        last = heap.pop();
        return last?.queue[last.index];
      },
      skipSender: () => {
        last = undefined;
      },
    };
  }

  /** What is wrong with a transaction by itself, whoever sent it. */
  #checkAlone(
    pooled: PooledTransaction,
  ): { readonly reason: PoolRefusal; readonly data: Readonly<Record<string, bigint>> } | undefined {
    const { transaction, encoded, isLocal } = pooled;
    const head = this.#head;
    const limits = this.#limits;
    if (transaction.type === 0x03 || (transaction.type === 0x04 && !head.acceptsSetCode)) {
      return { reason: "type-not-supported", data: { type: BigInt(transaction.type) } };
    }
    if (transaction.chainId !== undefined && transaction.chainId !== head.chainId) {
      return { reason: "wrong-chain-id", data: { have: transaction.chainId, want: head.chainId } };
    }
    if (encoded.length > limits.maxTransactionBytes) {
      return { reason: "oversized", data: { size: BigInt(encoded.length), limit: BigInt(limits.maxTransactionBytes) } };
    }
    const initcodeLimit = head.maxInitcodeBytes;
    if (transaction.to === undefined && initcodeLimit !== undefined && transaction.data.length > initcodeLimit) {
      return { reason: "initcode-too-large", data: { size: BigInt(transaction.data.length), limit: BigInt(initcodeLimit) } };
    }
    if (head.transactionGasCap !== undefined && transaction.gasLimit > head.transactionGasCap) {
      return { reason: "exceeds-transaction-gas-cap", data: { gas: transaction.gasLimit, cap: head.transactionGasCap } };
    }
    if (transaction.gasLimit > head.gasLimit) {
      return { reason: "exceeds-block-gas-limit", data: { gas: transaction.gasLimit, limit: head.gasLimit } };
    }
    if (tipCap(transaction) > feeCap(transaction)) {
      return { reason: "tip-above-fee-cap", data: { tip: tipCap(transaction), cap: feeCap(transaction) } };
    }
    if (!isLocal && tipCap(transaction) < limits.minimumTipWei) {
      return { reason: "underpriced", data: { tip: tipCap(transaction), minimum: limits.minimumTipWei } };
    }
    const minimum = head.minimumGas(transaction);
    if (transaction.gasLimit < minimum) return { reason: "intrinsic-gas-too-low", data: { gas: transaction.gasLimit, minimum } };
    return undefined;
  }

  /** Evicts cheaper remote transactions until the new one fits; false when there are none. */
  #makeRoom(pooled: PooledTransaction, replaced: PooledTransaction | undefined): boolean {
    const freed = replaced === undefined ? 0 : slotsOf(replaced);
    const needed = () => this.#slots - freed + slotsOf(pooled) - this.#limits.maxSlots;
    while (needed() > 0) {
      const cheapest = this.#popCheapest();
      if (cheapest === undefined) return pooled.isLocal;
      if (!pooled.isLocal && !this.#isCheaper(cheapest, pooled)) {
        this.#cheapest.push(cheapest);
        return false;
      }
      if (cheapest !== replaced) this.#drop(cheapest);
    }
    return true;
  }

  #popCheapest(): PooledTransaction | undefined {
    for (;;) {
      const cheapest = this.#cheapest.pop();
      if (cheapest === undefined || this.#byHash.get(bytesToHex(cheapest.hash)) === cheapest) return cheapest;
    }
  }

  #isCheaper(a: PooledTransaction, b: PooledTransaction): boolean {
    const baseFee = this.#head.baseFeeWei;
    const tipA = effectiveTip(a.transaction, baseFee);
    const tipB = effectiveTip(b.transaction, baseFee);
    return tipA === tipB ? feeCap(a.transaction) < feeCap(b.transaction) : tipA < tipB;
  }

  #emptyPriceHeap(): Heap<PooledTransaction> {
    return new Heap((a, b) => this.#isCheaper(a, b));
  }

  #drop(pooled: PooledTransaction): void {
    const address = bytesToHex(pooled.sender);
    const queue = this.#senders.get(address);
    queue?.remove(pooled);
    if (queue?.size === 0) this.#senders.delete(address);
    this.#forget(pooled);
  }

  #forget(pooled: PooledTransaction): void {
    if (this.#byHash.delete(bytesToHex(pooled.hash))) this.#slots -= slotsOf(pooled);
  }

  #announce(pending: readonly PooledTransaction[]): void {
    if (pending.length === 0) return;
    for (const listener of this.#listeners) listener(pending);
  }
}
