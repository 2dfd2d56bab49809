import { blobFeeCap, feeCap } from "./fees.ts";
import type { PoolAccount, PooledTransaction, PoolHead } from "./pool-types.ts";

/**
 * One sender's transactions by nonce. Those that follow the account's nonce without a gap, and that the balance pays for together,
 * are pending; the rest is queued.
 */
export class SenderQueue {
  /** ascending nonces */
  #transactions: PooledTransaction[] = [];
  #pendingCount = 0;
  /** wei that the pending ones cost together */
  #pendingCost = 0n;
  /** PERF: the rollup fee needs to compress the transaction, so it is computed once per transaction and head */
  readonly #costs = new Map<PooledTransaction, bigint>();
  #head: PoolHead;
  #account: PoolAccount;

  constructor(account: PoolAccount, head: PoolHead) {
    this.#account = account;
    this.#head = head;
  }

  get account(): PoolAccount {
    return this.#account;
  }
  get size(): number {
    return this.#transactions.length;
  }
  get pendingCount(): number {
    return this.#pendingCount;
  }
  get pending(): readonly PooledTransaction[] {
    return this.#transactions.slice(0, this.#pendingCount);
  }
  get queued(): readonly PooledTransaction[] {
    return this.#transactions.slice(this.#pendingCount);
  }

  /** The pending transaction at a position, counted from the lowest nonce. */
  pendingAt(index: number): PooledTransaction | undefined {
    return index < this.#pendingCount ? this.#transactions[index] : undefined;
  }

  /** The nonce that the next transaction should have: the one after the pending transactions. */
  get nextNonce(): bigint {
    return this.#account.nonce + BigInt(this.#pendingCount);
  }

  withNonce(nonce: bigint): PooledTransaction | undefined {
    const found = this.#transactions[this.#position(nonce)];
    return found?.transaction.nonce === nonce ? found : undefined;
  }

  /** The most wei this transaction may cost: gas at the fee cap, value, L1 data fee and operator fee. */
  costOf(pooled: PooledTransaction): bigint {
    let cost = this.#costs.get(pooled);
    if (cost === undefined) {
      const { transaction, encoded } = pooled;
      const gasFee = transaction.gasLimit * feeCap(transaction) + blobFeeCap(transaction);
      cost = gasFee + transaction.value + this.#head.rollupFee(transaction, encoded);
      this.#costs.set(pooled, cost);
    }
    return cost;
  }

  /** The wei that the pending transactions cost together, without the one with this nonce. */
  pendingCostBeside(nonce: bigint): bigint {
    const own = this.withNonce(nonce);
    const isPending = own !== undefined && nonce < this.nextNonce;
    return isPending ? this.#pendingCost - this.costOf(own) : this.#pendingCost;
  }

  /** Inserts a transaction, replacing one with the same nonce. Call `promote` afterwards. */
  put(pooled: PooledTransaction): void {
    const at = this.#position(pooled.transaction.nonce);
    const replaced = this.#transactions[at];
    const replaces = replaced?.transaction.nonce === pooled.transaction.nonce;
    this.#demoteFrom(at);
    this.#transactions.splice(at, replaces ? 1 : 0, pooled);
    if (replaces) this.#costs.delete(replaced);
  }

  /** Removes a transaction; those after it wait for its nonce. */
  remove(pooled: PooledTransaction): void {
    const at = this.#position(pooled.transaction.nonce);
    if (this.#transactions[at] !== pooled) return;
    this.#demoteFrom(at);
    this.#transactions.splice(at, 1);
    this.#costs.delete(pooled);
  }

  /** Applies a new head and account state; returns the transactions that can never be included any more. */
  reset(head: PoolHead, account: PoolAccount): PooledTransaction[] {
    this.#head = head;
    this.#account = account;
    this.#costs.clear();
    this.#pendingCount = 0;
    this.#pendingCost = 0n;
    const dropped: PooledTransaction[] = [];
    this.#transactions = this.#transactions.filter((pooled) => {
      const { nonce, gasLimit } = pooled.transaction;
      if (nonce >= account.nonce && gasLimit <= head.gasLimit && this.costOf(pooled) <= account.balance) return true;
      dropped.push(pooled);
      this.#costs.delete(pooled);
      return false;
    });
    return dropped;
  }

  /** Makes transactions pending, up to the limit; returns the new ones. */
  promote(maxPending: number): PooledTransaction[] {
    const first = this.#pendingCount;
    while (this.#pendingCount < maxPending) {
      const next = this.#transactions[this.#pendingCount];
      if (next === undefined || next.transaction.nonce !== this.nextNonce) break;
      const cost = this.#pendingCost + this.costOf(next);
      if (cost > this.#account.balance) break;
      this.#pendingCost = cost;
      this.#pendingCount++;
    }
    return this.#transactions.slice(first, this.#pendingCount);
  }

  #demoteFrom(index: number): void {
    while (this.#pendingCount > index) {
      this.#pendingCount--;
      const demoted = this.#transactions[this.#pendingCount]!;
      this.#pendingCost -= this.costOf(demoted);
    }
    if (this.#pendingCount === 0) this.#pendingCost = 0n;
  }

  #position(nonce: bigint): number {
    let low = 0;
    let high = this.#transactions.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#transactions[middle]!.transaction.nonce < nonce) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
