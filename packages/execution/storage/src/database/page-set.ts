/** A set of page numbers, one bit each, which is read in ascending order. */
export class PageSet {
  /** page n is bit n % 32 of word n / 32 */
  readonly #words: Uint32Array;

  /** @param words of another set, for the same file */
  constructor(lastPage: number, words: Uint32Array = new Uint32Array(Math.floor(lastPage / 32) + 1)) {
    this.#words = words;
  }

  /** The set itself, not a copy. */
  get words(): Uint32Array {
    return this.#words;
  }

  has(page: number): boolean {
    return (this.#words[Math.floor(page / 32)]! & (1 << (page % 32))) !== 0;
  }

  add(page: number): void {
    this.#words[Math.floor(page / 32)]! |= 1 << (page % 32);
  }

  /** The lowest number that is not below `from`; `undefined` if there is none. */
  next(from: number): number | undefined {
    let index = Math.floor(from / 32);
    let word = index < this.#words.length ? this.#words[index]! & (-1 << (from % 32)) : 0;
    while (word === 0) {
      if (++index >= this.#words.length) return undefined;
      word = this.#words[index]!;
    }
    return index * 32 + 31 - Math.clz32(word & -word);
  }
}
