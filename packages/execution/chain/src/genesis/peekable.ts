/** Rows of which the next can be looked at. */
export class Peekable<T> {
  readonly #rows: Iterator<T>;
  current: T | undefined;

  /** @param skipped number of rows to leave out */
  constructor(rows: Iterable<T>, skipped = 0) {
    this.#rows = rows[Symbol.iterator]();
    for (let left = skipped; left >= 0; left--) this.advance();
  }

  advance(): void {
    const next = this.#rows.next();
    this.current = next.done === true ? undefined : next.value;
  }
}
