import { type Hex, LruCache } from "@rnode/primitives";
import type { VerifiedHeader } from "./verified-header.ts";
import type { VerifiedReceipts } from "./verified-receipts.ts";
import type { VerifiedTransactions } from "./verified-transactions.ts";

/** Parts of L1 blocks that were checked against a hash. Nothing else is cached. */
export type Verified = VerifiedHeader | VerifiedTransactions | VerifiedReceipts;

/**
 * Verified values by the hash of their block. A missing value is loaded once, however many callers ask at the same time; a failed
 * load is not remembered.
 */
export class VerifiedCache<V extends Verified> {
  private readonly values: LruCache<Hex, V>;
  private readonly loading = new Map<Hex, Promise<V>>();

  constructor(capacity: number) {
    this.values = new LruCache(capacity);
  }

  peek(blockHash: Hex): V | undefined {
    return this.values.get(blockHash);
  }

  /** The key is taken from the value itself, so nothing can be stored under the hash of another block. */
  add(value: V): void {
    this.values.set("block" in value ? value.block.hash : value.hash, value);
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
