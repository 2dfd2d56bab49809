interface RecordTableOptions<V> {
  /** of the keys in the datastore, with a slash at the end */
  readonly prefix: string;
  /** the rest of the key in the datastore */
  keyText(key: string): string;
  /** @returns `undefined`: not a key of this table */
  keyOf(text: string): string | undefined;
  encode(value: V): Uint8Array;
  /** @returns `undefined`: damaged */
  decode(value: Uint8Array, key: string): V | undefined;
  /** entries; beyond them the least recently written one is deleted */
  readonly max: number;
  /** @param value `undefined`: delete */
  write(key: string, value: Uint8Array | undefined): void;
}

/** Records of one kind, in memory and, written behind, in the datastore. */
export class RecordTable<V> {
  readonly #options: RecordTableOptions<V>;
  /** written longest ago first */
  readonly #entries = new Map<string, V>();

  constructor(options: RecordTableOptions<V>) {
    this.#options = options;
  }

  get prefix(): string {
    return this.#options.prefix;
  }

  get size(): number {
    return this.#entries.size;
  }

  get isFull(): boolean {
    return this.#entries.size >= this.#options.max;
  }

  has(key: string): boolean {
    return this.#entries.has(key);
  }

  get(key: string): V | undefined {
    return this.#entries.get(key);
  }

  keys(): readonly string[] {
    return [...this.#entries.keys()];
  }

  values(): IterableIterator<V> {
    return this.#entries.values();
  }

  entries(): IterableIterator<[string, V]> {
    return this.#entries.entries();
  }

  set(key: string, value: V): void {
    this.#entries.delete(key);
    this.#entries.set(key, value);
    this.#options.write(this.#storeKey(key), this.#options.encode(value));
    this.#evict();
  }

  /** @returns whether it was there */
  delete(key: string): boolean {
    if (!this.#entries.delete(key)) return false;
    this.#options.write(this.#storeKey(key), undefined);
    return true;
  }

  deleteWhere(isOver: (value: V) => boolean): void {
    for (const [key, value] of this.#entries) if (isOver(value)) this.delete(key);
  }

  /** Restores a record of the datastore. @returns false: not of this table */
  restore(storeKey: string, value: Uint8Array): boolean {
    const key = this.#options.keyOf(storeKey.slice(this.prefix.length));
    const decoded = key === undefined ? undefined : this.#options.decode(value, key);
    if (key === undefined || decoded === undefined) return false;
    this.#entries.set(key, decoded);
    this.#evict();
    return true;
  }

  /** Empties the memory, not the datastore. */
  forget(): void {
    this.#entries.clear();
  }

  #storeKey(key: string): string {
    return this.prefix + this.#options.keyText(key);
  }

  #evict(): void {
    if (this.#entries.size <= this.#options.max) return;
    const oldest = this.#entries.keys().next();
    if (!oldest.done) this.delete(oldest.value);
  }
}
