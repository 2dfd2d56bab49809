/** A head as it was seen to change. */
export interface HeadSighting {
  readonly atMs: number;
  readonly number: number;
}

export interface HeadWatchOptions {
  readonly intervalMs: number;
  /** the head's number; rejects if there is no answer */
  readonly read: () => Promise<number>;
}

/** Notes when a head moves. */
export class HeadWatch {
  readonly sightings: HeadSighting[] = [];
  readonly #options: HeadWatchOptions;
  readonly #timer: NodeJS.Timeout;
  #isAsking = false;

  constructor(options: HeadWatchOptions) {
    this.#options = options;
    this.#timer = setInterval(() => void this.#look(), options.intervalMs);
  }

  get last(): HeadSighting | undefined {
    return this.sightings.at(-1);
  }

  /** Number of blocks by which it moved between two times. */
  progress(fromMs: number, toMs: number): number {
    const before = this.sightings.findLast(({ atMs }) => atMs <= fromMs) ?? this.sightings[0];
    const after = this.sightings.findLast(({ atMs }) => atMs <= toMs);
    return before && after ? after.number - before.number : 0;
  }

  /** The longest time without a move that overlaps with the given one. */
  longestStandstillMs(fromMs: number, toMs: number): number {
    const moves = this.sightings.map(({ atMs }) => atMs);
    const relevant = [
      moves.findLast((atMs) => atMs <= fromMs) ?? fromMs,
      ...moves.filter((atMs) => atMs > fromMs && atMs < toMs),
      moves.find((atMs) => atMs >= toMs) ?? toMs,
    ];
    return Math.max(...relevant.slice(1).map((atMs, index) => atMs - relevant[index]!));
  }

  close(): void {
    clearInterval(this.#timer);
  }

  async #look(): Promise<void> {
    if (this.#isAsking) return;
    this.#isAsking = true;
    try {
      const number = await this.#options.read();
      if (number !== this.last?.number) this.sightings.push({ atMs: performance.now(), number });
    } catch {
      // an unreadable head counts as not advancing
    } finally {
      this.#isAsking = false;
    }
  }
}
