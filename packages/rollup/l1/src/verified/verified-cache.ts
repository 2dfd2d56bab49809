import { type Hex, LruCache } from "@rnode/primitives";
import type { VerifiedHeader } from "./verified-header.ts";
import type { VerifiedReceipts } from "./verified-receipts.ts";
import type { VerifiedTransactions } from "./verified-transactions.ts";

/** Parts of L1 blocks that were checked against a hash. Nothing else is cached. */
export type Verified = VerifiedHeader | VerifiedTransactions | VerifiedReceipts;

export interface VerifiedCacheLimits {
  readonly count: number;
  readonly bytes: number;
}

/**
 * Verified values by the hash of their block, with LRU eviction. Concurrent requests for a missing value load it once; failures
 * are not cached.
 */
export class VerifiedCache<V extends Verified> {
  private readonly limits: VerifiedCacheLimits;
  private readonly values: LruCache<Hex, V>;
  private readonly loading = new Map<Hex, Promise<V>>();
  private bytes = 0;

  constructor(limits: VerifiedCacheLimits) {
    this.limits = limits;
    this.values = new LruCache(Number.POSITIVE_INFINITY);
  }

  get size(): number {
    return this.values.size;
  }

  /** an estimate of the memory that the values take */
  get sizeBytes(): number {
    return this.bytes;
  }

  peek(blockHash: Hex): V | undefined {
    return this.values.get(blockHash);
  }

  /** The key is taken from the value itself, so nothing can be stored under the hash of another block. */
  add(value: V): void {
    const hash = "block" in value ? value.block.hash : value.hash;
    this.bytes += value.sizeBytes - (this.values.get(hash)?.sizeBytes ?? 0);
    this.values.set(hash, value);
    for (const [oldest, { sizeBytes }] of this.values) {
      const isWithin = this.values.size <= this.limits.count && this.bytes <= this.limits.bytes;
      if (isWithin || oldest === hash) break;
      this.values.delete(oldest);
      this.bytes -= sizeBytes;
    }
  }

  get(blockHash: Hex, load: () => Promise<V>): Promise<V> {
    const known = this.values.get(blockHash);
    if (known !== undefined) return Promise.resolve(known);
    const pending = this.loading.get(blockHash);
    if (pending !== undefined) return pending;
    const started = load()
      .then((value) => {
        this.add(value);
        return value;
      })
      .finally(() => this.loading.delete(blockHash));
    this.loading.set(blockHash, started);
    return started;
  }
}
