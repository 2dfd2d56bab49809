import { LruCache } from "@rnode/primitives";

interface Budget {
  tokens: number;
  atMs: number;
}

const BURST = 8;
const TOKENS_PER_SEC = 0.2;
const MAX_PEERS = 1000;
const MIB = 1024 * 1024;

/**
 * What a peer may cost us for nothing. An invalid message costs a token and another for each mebibyte that had to be read, a known block
 * in another form a tenth of that. A peer without tokens is not read until it has some again; its score falls independently of this.
 * An honest peer checks what it passes on, so it hardly ever costs anything.
 */
export class PeerBudgets {
  private budgets = new LruCache<string, Budget>(MAX_PEERS);
  private readonly nowMs: () => number;

  constructor(nowMs: () => number) {
    this.nowMs = nowMs;
  }

  /** Whether the peer's next message is to be read. */
  isOpen(peer: string): boolean {
    const budget = this.refilled(peer);
    return budget === undefined || budget.tokens > 0;
  }

  chargeInvalid(peer: string, readBytes: number): void {
    this.charge(peer, 1 + readBytes / MIB);
  }

  chargeRedundant(peer: string, readBytes: number): void {
    this.charge(peer, (1 + readBytes / MIB) / 10);
  }

  /** What was invalid may not have been the peers' fault. */
  forgiveAll(): void {
    this.budgets = new LruCache(MAX_PEERS);
  }

  private charge(peer: string, tokens: number): void {
    const budget = this.refilled(peer) ?? { tokens: BURST, atMs: this.nowMs() };
    budget.tokens -= tokens;
    this.budgets.set(peer, budget);
  }

  private refilled(peer: string): Budget | undefined {
    const budget = this.budgets.get(peer);
    if (budget === undefined) return undefined;
    const nowMs = this.nowMs();
    // a clock that was set back refills nothing
    budget.tokens = Math.min(BURST, budget.tokens + (Math.max(0, nowMs - budget.atMs) / 1000) * TOKENS_PER_SEC);
    budget.atMs = nowMs;
    if (budget.tokens < BURST) return budget;
    this.budgets.delete(peer);
    return undefined;
  }
}
