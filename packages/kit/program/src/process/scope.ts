import type { Logger } from "@rnode/observe";
import type { Clock } from "@rnode/primitives";

/** A part that takes longer to close is abandoned: the programs keep nothing that a kill would lose. */
const CLOSE_LIMIT_MS = 5_000;

export interface ScopeDeps {
  readonly log: Logger;
  readonly clock: Clock;
}

export interface PartOptions {
  /** how long its close may take */
  readonly closeLimitMs?: number | undefined;
}

interface Part {
  readonly name: string;
  readonly close: () => unknown;
  readonly closeLimitMs: number;
}

/** Everything that a program has started, in order. It is closed in reverse, also when the start fails half-way. */
export class Scope {
  readonly #deps: ScopeDeps;
  readonly #parts: Part[] = [];
  readonly #closing = new AbortController();
  #closed: Promise<boolean> | undefined;

  constructor(deps: ScopeDeps) {
    this.#deps = deps;
  }

  /** Aborted when closing begins: for loops, and for whatever waits while the program starts. */
  get signal(): AbortSignal {
    return this.#closing.signal;
  }

  /**
   * Starts a part and keeps it until the scope closes.
   *
   * @param close is called once, even if closing began while the part was starting
   * @throws what `start` throws; the abort reason if closing has already begun
   */
  async use<T>(name: string, start: () => T | Promise<T>, close: (part: T) => unknown, options: PartOptions = {}): Promise<T> {
    this.signal.throwIfAborted();
    const part = await start();
    this.onClose(name, () => close(part), options);
    this.signal.throwIfAborted();
    return part;
  }

  /** For a part that is already running: `close` is called in reverse order of these calls. */
  onClose(name: string, close: () => unknown, { closeLimitMs = CLOSE_LIMIT_MS }: PartOptions = {}): void {
    this.#parts.push({ name, close, closeLimitMs });
  }

  /** Signals all parts that the program is ending, without closing them yet. */
  abort(): void {
    if (!this.signal.aborted) this.#closing.abort(new Error("the program stops"));
  }

  /**
   * Closes all parts, the last one first. @returns whether each closed in time and without an error; the log names
   * those that did not
   */
  close(): Promise<boolean> {
    this.#closed ??= this.#closeParts();
    return this.#closed;
  }

  async #closeParts(): Promise<boolean> {
    this.abort();
    let isClean = true;
    for (let part = this.#parts.pop(); part !== undefined; part = this.#parts.pop()) {
      if (!(await this.#closePart(part))) isClean = false;
    }
    return isClean;
  }

  async #closePart({ name, close, closeLimitMs }: Part): Promise<boolean> {
    const { log, clock } = this.#deps;
    const waiting = new AbortController();
    const limit = clock.sleep(closeLimitMs, waiting.signal).then(() => "late" as const);
    try {
      const outcome = await Promise.race([Promise.resolve(close()).then(() => "closed" as const), limit]);
      if (outcome === "late") log.error("a part does not close: going on without waiting", { part: name, limitMs: closeLimitMs });
      return outcome === "closed";
    } catch (error) {
      log.error("a part did not close as it should", { part: name, error });
      return false;
    } finally {
      waiting.abort();
    }
  }
}
