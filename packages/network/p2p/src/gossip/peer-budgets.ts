import { LruCache, type Rate, TokenBucket } from "@rnode/primitives";

const RATE: Rate = { burst: 8, perSec: 0.2 };
const MAX_PEERS = 1000;
const MIB = 1024 * 1024;

/**
 * A peer's budget for useless messages. An invalid message costs a token and another for each mebibyte of its data, a known block
 * in another encoding a tenth of that. A peer without tokens is not read until it has some again; its score falls independently
 * of this. An honest peer validates messages before it forwards them, so it hardly ever pays.
 */
export class PeerBudgets {
  private budgets = new LruCache<string, TokenBucket>(MAX_PEERS);
  private readonly nowMs: () => number;

  constructor(nowMs: () => number) {
    this.nowMs = nowMs;
  }

  /** Whether the peer's next message is to be read. */
  isOpen(peer: string): boolean {
    const budget = this.budgets.get(peer);
    if (budget?.isFull === true) this.budgets.delete(peer);
    return budget === undefined || budget.left > 0;
  }

  chargeInvalid(peer: string, readBytes: number): void {
    this.charge(peer, 1 + readBytes / MIB);
  }

  chargeRedundant(peer: string, readBytes: number): void {
    this.charge(peer, (1 + readBytes / MIB) / 10);
  }

  /** Invalid messages may not have been the peers' fault. */
  forgiveAll(): void {
    this.budgets = new LruCache(MAX_PEERS);
  }

  private charge(peer: string, tokens: number): void {
    const budget = this.budgets.get(peer) ?? new TokenBucket(RATE, { monotonicMs: this.nowMs });
    budget.spend(tokens);
    this.budgets.set(peer, budget);
  }
}
