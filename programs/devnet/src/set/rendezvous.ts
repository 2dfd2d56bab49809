/** Where the chains of a set wait for each other: each joins, and goes on after the last one has joined and `start` has run. */
export class Rendezvous<T> {
  readonly first: Promise<T>;
  readonly #members: T[] = [];
  readonly #count: number;
  readonly #isStarted: Promise<void>;
  #onFirst: (member: T) => void = () => {};
  #onAll: () => void = () => {};

  constructor(count: number, start: (members: readonly T[]) => Promise<void>) {
    this.#count = count;
    this.first = new Promise((resolve) => (this.#onFirst = resolve));
    this.#isStarted = new Promise<void>((resolve) => (this.#onAll = resolve)).then(() => start(this.#members));
    this.#isStarted.catch(() => {}); // reported to each that has joined
  }

  join(member: T): Promise<void> {
    this.#members.push(member);
    this.#onFirst(member);
    if (this.#members.length === this.#count) this.#onAll();
    return this.#isStarted;
  }
}
