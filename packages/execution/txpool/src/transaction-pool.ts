import { bytesToHex, type Hex } from "@rnode/primitives";
import { effectiveTip, feeCap, isReplacementPriced, tipCap } from "./fees.ts";
import { Heap } from "./heap.ts";
import {
  type AddResult,
  DEFAULT_POOL_LIMITS,
  type PoolAccount,
  type PooledTransaction,
  type PoolHead,
  type PoolLimits,
  type PoolRefusal,
  type PoolWait,
} from "./pool-types.ts";
import { SenderQueue } from "./sender-queue.ts";

const SLOT_BYTES = 32 * 1024;
/** EIP-2681 */
const MAX_NONCE = 2n ** 64n - 1n;
const slotsOf = (pooled: PooledTransaction): number => Math.ceil(pooled.encoded.length / SLOT_BYTES);

/** Transactions by descending effective tip, earlier arrivals first; nonces of one sender ascend. */
export interface BestPooledTransactions {
  next(): PooledTransaction | undefined;
  /** Skips the remaining transactions of the last transaction's sender. */
  skipSender(): void;
}

export interface SenderContent {
  readonly sender: Uint8Array;
  readonly pending: readonly PooledTransaction[];
  readonly queued: readonly PooledTransaction[];
}

type NoRoom = Extract<PoolRefusal, "underpriced-when-full" | "pool-full" | "future-replaces-pending">;

type Refused = Extract<AddResult, { kind: "refused" }>;

type Judgement =
  | {
      readonly kind: "fits";
      /** of its sender */
      readonly queue: SenderQueue;
      /** the transaction that it replaces */
      readonly old: PooledTransaction | undefined;
      /** there is none with the nonce before it */
      readonly isGapped: boolean;
    }
  | Refused;

const refused = (reason: PoolRefusal, data: Readonly<Record<string, bigint>> = {}): Refused => ({ kind: "refused", reason, data });

export type PoolListener = (pending: readonly PooledTransaction[]) => void;

/**
 * Transactions waiting for a block, under Geth's rules. Deterministic: the head, the clock and the accounts are passed in. Spec:
 * docs/protocol/01-execution.md#transaction-pool, docs/protocol/04-rpc.md#eth_sendrawtransaction
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
  #encodedBytes = 0;
  #pending = 0;
  /** EIP-7702: how many transactions of the pool hold an authorization of an account */
  readonly #authorizations = new Map<Hex, number>();
  /** remote and local transactions, cheapest first; the heaps may hold removed entries, which are skipped */
  #remote: Heap<PooledTransaction>;
  #local: Heap<PooledTransaction>;

  constructor(head: PoolHead, limits: Partial<PoolLimits> = {}) {
    this.#limits = { ...DEFAULT_POOL_LIMITS, ...limits };
    this.#head = head;
    this.#remote = this.#emptyPriceHeap();
    this.#local = this.#emptyPriceHeap();
  }

  /** Measured: 3 KB per transaction, plus its data in two forms. */
  get roughBytes(): number {
    return 3000 * this.size + 2 * this.#encodedBytes;
  }

  /** Of the EIP-2718 encodings of all its transactions. */
  get encodedBytes(): number {
    return this.#encodedBytes;
  }

  get size(): number {
    return this.#byHash.size;
  }

  counts(): { readonly pending: number; readonly queued: number } {
    return { pending: this.#pending, queued: this.#byHash.size - this.#pending };
  }

  get(hash: Uint8Array): PooledTransaction | undefined {
    return this.#byHash.get(bytesToHex(hash));
  }

  /** The nonce for the sender's next transaction, counting pending ones; undefined if the pool has none of its transactions. */
  nextNonce(sender: Uint8Array): bigint | undefined {
    return this.#senders.get(bytesToHex(sender))?.nextNonce;
  }

  /** The transactions of every sender, or of one. */
  *content(sender?: Uint8Array): Iterable<SenderContent> {
    for (const [address, queue] of this.#senders) {
      const first = queue.pendingAt(0) ?? queue.queued[0];
      if (first === undefined || (sender !== undefined && bytesToHex(sender) !== address)) continue;
      yield { sender: first.sender, pending: queue.pending, queued: queue.queued };
    }
  }

  /** The listener is called with transactions that have become executable. */
  onPending(listener: PoolListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Why `add` would refuse a transaction regardless of the pool's content; `undefined`: no such reason. Changes nothing. */
  refusalOf(pooled: PooledTransaction): Refused | undefined {
    const judged = this.#judge(pooled);
    return judged.kind === "refused" ? judged : undefined;
  }

  /**
   * Why a transaction that `add` would accept has to wait in the pool; `undefined`: it would not wait, or would be refused.
   * Changes nothing.
   */
  waitOf(pooled: PooledTransaction): PoolWait | undefined {
    const judged = this.#judge(pooled);
    if (judged.kind === "refused") return undefined;
    const { queue, old, isGapped } = judged;
    if (isGapped) return { kind: "nonce-gap", next: queue.nextNonce };
    const takesNewPlace = old === undefined || pooled.transaction.nonce === queue.nextNonce;
    return takesNewPlace && queue.pendingCount >= this.#limits.maxPendingPerSender ? { kind: "queued" } : undefined;
  }

  /** Checks a transaction and adds it. A refusal changes nothing. */
  add(pooled: PooledTransaction): AddResult {
    const judged = this.#judge(pooled);
    if (judged.kind === "refused") return judged;
    const { queue, old, isGapped } = judged;
    const { transaction } = pooled;
    const room = this.#makeRoom(pooled, old, isGapped);
    if (room !== "made") return refused(room);

    if (old !== undefined) this.#forget(old);
    this.#senders.set(bytesToHex(pooled.sender), queue);
    this.#remember(pooled);
    const promoted = this.#counting(queue, () => {
      queue.put(pooled);
      return queue.promote(this.#limits.maxPendingPerSender);
    });
    this.#limitQueued();
    if (!this.#byHash.has(bytesToHex(pooled.hash))) return refused("pool-full");
    this.#announce(promoted.filter((one) => one === pooled || one.transaction.nonce > transaction.nonce));
    return { kind: "added", pooled, isPending: promoted.includes(pooled), replaced: old };
  }

  /** Everything that decides about a transaction but how full the pool is. */
  #judge(pooled: PooledTransaction): Judgement {
    if (this.#byHash.has(bytesToHex(pooled.hash))) return refused("already-known");
    const fault = this.#checkAlone(pooled);
    if (fault !== undefined) return refused(fault.reason, fault.data);

    const { transaction } = pooled;
    const address = bytesToHex(pooled.sender);
    const account = this.#head.readAccount(pooled.sender);
    if (account.isContract) return refused("sender-not-eoa");
    if (transaction.nonce === MAX_NONCE) return refused("nonce-max");
    if (transaction.nonce < account.nonce) return refused("nonce-too-low", { next: account.nonce, nonce: transaction.nonce });

    const queue = this.#senders.get(address) ?? new SenderQueue(account, this.#head);
    const cost = queue.costOf(pooled);
    const beside = queue.pendingCostBeside(transaction.nonce);
    const isGapped = transaction.nonce > queue.nextNonce;
    const needed = isGapped ? cost : beside + cost;
    const { balance } = account;
    if (cost > balance) return refused("insufficient-funds", { balance, cost, queued: 0n, overshot: cost - balance });
    if (needed > balance) {
      const isReplacing = transaction.nonce < queue.nextNonce;
      const replaced = isReplacing ? queue.costOf(queue.withNonce(transaction.nonce)!) : undefined;
      const costs = { cost, queued: beside, ...(replaced !== undefined && { replaced }) };
      return refused("insufficient-funds", { balance, ...costs, overshot: needed - balance });
    }

    const other = queue.pendingAt(0) ?? queue.queued[0];
    if (other !== undefined && (other.transaction.type === 0x03) !== (transaction.type === 0x03)) return refused("sender-reserved");
    const old = queue.withNonce(transaction.nonce);
    if (old !== undefined) {
      const { priceBumpPercent, blobPriceBumpPercent } = this.#limits;
      const bumpPercent = transaction.type === 0x03 ? blobPriceBumpPercent : priceBumpPercent;
      if (!isReplacementPriced(old.transaction, transaction, bumpPercent)) return refused("replacement-underpriced");
    } else if (transaction.nonce > queue.nextNonce || queue.pendingCount >= this.#limits.maxPendingPerSender) {
      const queued = queue.size - queue.pendingCount;
      if (queued >= this.#limits.maxQueuedPerSender) return refused("account-limit-exceeded", { pooled: BigInt(queue.size) });
    }
    const reservation = this.#checkAuthorizations(pooled, account, queue);
    if (reservation !== undefined) return refused(reservation);
    return { kind: "fits", queue, old, isGapped };
  }

  /** Drops all transactions. @returns how many there were */
  clear(): number {
    const all = [...this.#byHash.values()];
    for (const pooled of all) this.#drop(pooled);
    return all.length;
  }

  remove(hash: Uint8Array): void {
    const pooled = this.get(hash);
    if (pooled !== undefined) this.#drop(pooled);
  }

  /**
   * Moves to a new head: transactions that were mined or have become impossible are dropped, and those that a reorganisation
   * removed from the chain come back.
   *
   * @param reinjected transactions of blocks that left the canonical chain
   * @param nowSec the caller's clock, to drop queued transactions that have waited too long
   */
  reset(head: PoolHead, reinjected: readonly PooledTransaction[], nowSec: number): void {
    this.#head = head;
    const announced: PooledTransaction[] = [];
    this.#pending = 0;
    for (const [address, queue] of this.#senders) {
      const wasPending = new Set(queue.pending);
      const first = queue.pendingAt(0) ?? queue.queued[0];
      const dropped = first === undefined ? [] : queue.reset(head, head.readAccount(first.sender));
      for (const pooled of dropped) this.#forget(pooled);
      for (const pooled of queue.promote(this.#limits.maxPendingPerSender)) if (!wasPending.has(pooled)) announced.push(pooled);
      for (const pooled of queue.queued) {
        if ((nowSec - pooled.arrivedAtSec) * 1000 <= this.#limits.queuedLifetimeMs) continue;
        queue.remove(pooled);
        this.#forget(pooled);
      }
      this.#pending += queue.pendingCount;
      if (queue.size === 0) this.#senders.delete(address);
    }
    this.#remote = this.#emptyPriceHeap();
    this.#local = this.#emptyPriceHeap();
    for (const pooled of this.#byHash.values()) this.#price(pooled);
    this.#limitQueued();
    this.#announce(announced);
    for (const pooled of reinjected) this.add(pooled);
  }

  /** A snapshot of the executable transactions that pay `baseFeeWei`, best tip first. */
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

  /** Checks that depend on the transaction alone and not on its sender's account. */
  #checkAlone(
    pooled: PooledTransaction,
  ): { readonly reason: PoolRefusal; readonly data: Readonly<Record<string, bigint>> } | undefined {
    const { transaction, encoded, isLocal } = pooled;
    const head = this.#head;
    const limits = this.#limits;
    const isOfLaterFork =
      (transaction.type === 0x03 && head.acceptsBlobs !== true) || (transaction.type === 0x04 && !head.acceptsSetCode);
    if (isOfLaterFork) {
      return { reason: "type-not-supported", data: { type: BigInt(transaction.type) } };
    }
    const { maxBlobsPerTransaction = Number.POSITIVE_INFINITY } = head;
    if (transaction.type === 0x03 && transaction.blobVersionedHashes.length > maxBlobsPerTransaction) {
      const have = BigInt(transaction.blobVersionedHashes.length);
      return { reason: "too-many-blobs", data: { have, permitted: BigInt(maxBlobsPerTransaction) } };
    }
    if (transaction.chainId !== undefined && transaction.chainId !== head.chainId) {
      return { reason: "wrong-chain-id", data: { have: transaction.chainId, want: head.chainId } };
    }
    if (encoded.length > limits.maxTransactionBytes) {
      return { reason: "oversized", data: { size: BigInt(encoded.length), limit: BigInt(limits.maxTransactionBytes) } };
    }
    const initcodeLimit = head.maxInitcodeBytes;
    if (transaction.to === undefined && transaction.data.length > initcodeLimit) {
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
    const { gasLimit: gas } = transaction;
    const intrinsic = head.intrinsicGas(transaction);
    if (gas < intrinsic) return { reason: "intrinsic-gas-too-low", data: { gas, minimum: intrinsic } };
    const floor = head.floorDataGas(transaction);
    if (gas < floor) return { reason: "floor-data-gas-too-low", data: { gas, minimum: floor } };
    if (transaction.type === 0x04 && transaction.authorizationList.length === 0)
      return { reason: "empty-authorization-list", data: {} };
    return undefined;
  }

  /**
   * The holder of an account's authorization can change its balance or nonce. To keep one transaction from invalidating many, such
   * an account may have at most one transaction in flight.
   */
  #checkAuthorizations(pooled: PooledTransaction, account: PoolAccount, queue: SenderQueue): PoolRefusal | undefined {
    const { nonce } = pooled.transaction;
    if (account.isDelegated || this.#authorizations.has(bytesToHex(pooled.sender))) {
      const replaces = queue.withNonce(nonce) !== undefined && nonce < queue.nextNonce;
      if (queue.pendingCount === 0 && nonce !== queue.nextNonce) return "delegated-gap";
      if (queue.pendingCount > 0 && !replaces) return "delegated-limit";
    }
    const isReserved = pooled.authorities?.some((authority) => (this.#senders.get(bytesToHex(authority))?.size ?? 0) > 1);
    return isReserved ? "authority-reserved" : undefined;
  }

  /** Evicts cheaper transactions, remote ones first, until the new one fits; evicts nothing if that is not possible. */
  #makeRoom(pooled: PooledTransaction, replaced: PooledTransaction | undefined, isGapped: boolean): "made" | NoRoom {
    const missing = this.#slots + slotsOf(pooled) - (replaced === undefined ? 0 : slotsOf(replaced)) - this.#limits.maxSlots;
    let needed = missing;
    const victims: PooledTransaction[] = [];
    let verdict: "made" | NoRoom = "made";
    while (needed > 0 && verdict === "made") {
      const cheapest = this.#popLive(this.#remote) ?? this.#popLive(this.#local);
      if (cheapest === undefined) return this.#keep(victims, "pool-full");
      victims.push(cheapest);
      if (cheapest === replaced) continue;
      const yields =
        (pooled.isLocal && !cheapest.isLocal) || ((pooled.isLocal || !cheapest.isLocal) && this.#isCheaper(cheapest, pooled));
      if (!yields) verdict = needed === missing && !this.#isCheaper(cheapest, pooled) ? "underpriced-when-full" : "pool-full";
      else if (isGapped && this.#isPending(cheapest)) verdict = "future-replaces-pending";
      else needed -= slotsOf(cheapest);
    }
    if (verdict !== "made") return this.#keep(victims, verdict);
    for (const victim of victims) {
      if (victim === replaced) this.#price(victim);
      else this.#drop(victim);
    }
    return "made";
  }

  #keep<T>(victims: readonly PooledTransaction[], verdict: T): T {
    for (const victim of victims) this.#price(victim);
    return verdict;
  }

  /** While too many transactions are queued, the sender with the most of them loses its last one. */
  #limitQueued(): void {
    while (this.counts().queued > this.#limits.maxQueued) {
      let most: SenderQueue | undefined;
      for (const queue of this.#senders.values()) {
        if (queue.size - queue.pendingCount > (most === undefined ? 0 : most.size - most.pendingCount)) most = queue;
      }
      const last = most?.queued.at(-1);
      if (last === undefined) return;
      this.#drop(last);
    }
  }

  #isPending({ sender, transaction }: PooledTransaction): boolean {
    const queue = this.#senders.get(bytesToHex(sender));
    return queue !== undefined && transaction.nonce < queue.nextNonce;
  }

  #popLive(heap: Heap<PooledTransaction>): PooledTransaction | undefined {
    for (;;) {
      const cheapest = heap.pop();
      if (cheapest === undefined || this.#byHash.get(bytesToHex(cheapest.hash)) === cheapest) return cheapest;
    }
  }

  #price(pooled: PooledTransaction): void {
    (pooled.isLocal ? this.#local : this.#remote).push(pooled);
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
    if (queue !== undefined) this.#counting(queue, () => queue.remove(pooled));
    if (queue?.size === 0) this.#senders.delete(address);
    this.#forget(pooled);
  }

  #remember(pooled: PooledTransaction): void {
    this.#byHash.set(bytesToHex(pooled.hash), pooled);
    this.#slots += slotsOf(pooled);
    this.#encodedBytes += pooled.encoded.length;
    if (!this.#sequence.has(pooled)) this.#sequence.set(pooled, this.#nextSequence++);
    this.#price(pooled);
    for (const authority of pooled.authorities ?? []) {
      const key = bytesToHex(authority);
      this.#authorizations.set(key, (this.#authorizations.get(key) ?? 0) + 1);
    }
  }

  #forget(pooled: PooledTransaction): void {
    if (!this.#byHash.delete(bytesToHex(pooled.hash))) return;
    this.#slots -= slotsOf(pooled);
    this.#encodedBytes -= pooled.encoded.length;
    for (const authority of pooled.authorities ?? []) {
      const key = bytesToHex(authority);
      const left = this.#authorizations.get(key)! - 1;
      if (left > 0) this.#authorizations.set(key, left);
      else this.#authorizations.delete(key);
    }
  }

  /** Changes a sender's queue and updates the number of pending transactions. */
  #counting<T>(queue: SenderQueue, change: () => T): T {
    const before = queue.pendingCount;
    const result = change();
    this.#pending += queue.pendingCount - before;
    return result;
  }

  #announce(pending: readonly PooledTransaction[]): void {
    if (pending.length === 0) return;
    for (const listener of this.#listeners) listener(pending);
  }
}
