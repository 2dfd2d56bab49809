/** Work is postponed for so many turns in a row at most: clients that only open connections would keep it waiting for ever. */
const MOST_TURNS = 32;

/**
 * Lets those in who wait at the door before work goes on. libuv accepts one connection of a listener in each turn of the event loop; with some
 * milliseconds of work in every turn, a newcomer behind a hundred others would wait for a second before anybody looks at what it wants.
 */
export class Arrivals {
  #hasAccepted = false;
  #postponed = 0;
  #due: (() => void)[] = [];

  /** A connection was accepted in this turn. */
  accepted(): void {
    this.#hasAccepted = true;
  }

  /** Runs it when the event loop has read what has arrived, like `setImmediate`, but not while connections are being accepted. */
  readonly afterwards = (run: () => void): void => {
    if (this.#due.push(run) === 1) setImmediate(this.#run);
  };

  readonly #run = (): void => {
    if (this.#hasAccepted && this.#postponed < MOST_TURNS) {
      this.#hasAccepted = false;
      this.#postponed++;
      setImmediate(this.#run);
      return;
    }
    this.#postponed = 0;
    const due = this.#due;
    this.#due = []; // what they add is for the next turn
    for (const run of due) run();
  };
}
