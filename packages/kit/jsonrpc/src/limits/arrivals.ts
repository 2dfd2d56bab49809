/** Work is postponed for at most this many turns in a row, otherwise clients that only open connections would stop it. */
const MOST_TURNS = 32;

/**
 * Accept new connections before running queued work. libuv accepts one connection of a listener in each turn of the event loop.
 * With some milliseconds of work per turn, a new connection behind a hundred others would wait for a second.
 */
export class Arrivals {
  #hasAccepted = false;
  #postponed = 0;
  #due: (() => void)[] = [];

  /** A connection was accepted in this turn. */
  accepted(): void {
    this.#hasAccepted = true;
  }

  /**
   * Runs a function after the event loop has read the received data, like `setImmediate`, but not while connections are being
   * accepted.
   */
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
    this.#due = []; // functions that they add run in the next turn
    for (const run of due) run();
  };
}
