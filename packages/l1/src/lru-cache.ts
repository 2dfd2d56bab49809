/** Keeps the `capacity` most recently used values. */
export class LruCache<K, V> {
  private readonly entries = new Map<K, V>();
  private readonly capacity: number;

  constructor(capacity: number) {
    this.capacity = capacity;
  }

  get size(): number {
    return this.entries.size;
  }

  get(key: K): V | undefined {
    const value = this.entries.get(key);
    if (value === undefined) return undefined;
    this.entries.delete(key);
    this.entries.set(key, value);
    return value;
  }

  set(key: K, value: V): void {
    this.entries.delete(key);
    this.entries.set(key, value);
    if (this.entries.size <= this.capacity) return;
    const oldest = this.entries.keys().next();
    if (!oldest.done) this.entries.delete(oldest.value);
  }
}

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
