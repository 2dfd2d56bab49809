/** A queue with one turn per client and round, regardless of the number of its items. */
export class RoundRobin<T> {
  /** in the order of turns */
  readonly #waiting = new Map<string, T[]>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  add(client: string, item: T): void {
    const own = this.#waiting.get(client);
    if (own === undefined) this.#waiting.set(client, [item]);
    else own.push(item);
    this.#size++;
  }

  take(): T | undefined {
    for (const [client, own] of this.#waiting) {
      this.#waiting.delete(client);
      const item = own.shift();
      if (own.length > 0) this.#waiting.set(client, own);
      this.#size--;
      return item;
    }
    return undefined;
  }
}
