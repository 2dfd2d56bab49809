import { LruCache } from "@rnode/primitives";

/** A cache whose misses are loaded once, however many ask at the same time. A failed load is not remembered. */
export class LoadingCache<V> {
  private readonly values: LruCache<string, V>;
  private readonly loading = new Map<string, Promise<V>>();

  constructor(capacity: number) {
    this.values = new LruCache(capacity);
  }

  peek(key: string): V | undefined {
    return this.values.get(key);
  }

  set(key: string, value: V): void {
    this.values.set(key, value);
  }

  get(key: string, load: () => Promise<V>): Promise<V> {
    const known = this.values.get(key);
    if (known !== undefined) return Promise.resolve(known);
    const pending = this.loading.get(key);
    if (pending !== undefined) return pending;
    const started = load()
      .then((value) => {
        this.values.set(key, value);
        return value;
      })
      .finally(() => this.loading.delete(key));
    this.loading.set(key, started);
    return started;
  }
}
