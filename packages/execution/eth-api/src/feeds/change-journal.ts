/**
 * A shared list of events. Each reader holds a position in it. The oldest entries are dropped when the total size exceeds a
 * limit.
 */
export class ChangeJournal<Entry> {
  readonly #maxBytes: number;
  #entries: { readonly entry: Entry; readonly bytes: number }[] = [];
  /** index of the oldest entry that is kept */
  #oldest = 0;
  /** position of the entry at index 0 */
  #base = 0;
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Rough size of all entries. */
  get bytes(): number {
    return this.#bytes;
  }

  /** The position of what comes next. */
  get end(): number {
    return this.#base + this.#entries.length;
  }

  /** @param bytes rough size of the entry in memory */
  push(entry: Entry, bytes: number): void {
    this.#entries.push({ entry, bytes });
    this.#bytes += bytes;
    while (this.#bytes > this.#maxBytes) this.#bytes -= this.#entries[this.#oldest++]!.bytes;
    if (this.#oldest * 2 <= this.#entries.length) return;
    this.#entries = this.#entries.slice(this.#oldest);
    this.#base += this.#oldest;
    this.#oldest = 0;
  }

  /** All entries from a position on; undefined: some of them were dropped. */
  from(position: number): Entry[] | undefined {
    const index = position - this.#base;
    return index < this.#oldest ? undefined : this.#entries.slice(index).map(({ entry }) => entry);
  }

  /** Drops everything. */
  clear(): void {
    this.#base = this.end;
    this.#entries = [];
    this.#oldest = 0;
    this.#bytes = 0;
  }
}
