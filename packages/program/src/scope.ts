import type { Logger } from "@rnode/observe";
import type { Clock } from "@rnode/primitives";

/** A part that takes longer to close is left behind: nothing that the programs keep is lost by a kill. */
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

/** What a program has started, in order. It closes in reverse, also when a start fails in the middle. */
export class Scope {
  readonly #deps: ScopeDeps;
  readonly #parts: Part[] = [];
  readonly #closing = new AbortController();
  #closed: Promise<boolean> | undefined;

  constructor(deps: ScopeDeps) {
    this.#deps = deps;
  }

  /** Aborted when closing begins: for loops, and for what waits while the program starts. */
  get signal(): AbortSignal {
    return this.#closing.signal;
  }

  /**
   * Starts a part and keeps it until the scope closes.
   *
   * @param close is called once, also when closing began while the part started
   * @throws what `start` throws; the abort reason, when closing has begun
   */
  async use<T>(name: string, start: () => T | Promise<T>, close: (part: T) => unknown, options: PartOptions = {}): Promise<T> {
    this.signal.throwIfAborted();
    const part = await start();
    this.onClose(name, () => close(part), options);
    this.signal.throwIfAborted();
    return part;
  }

  /** For what is there already: `close` is called in reverse order of these calls. */
  onClose(name: string, close: () => unknown, { closeLimitMs = CLOSE_LIMIT_MS }: PartOptions = {}): void {
    this.#parts.push({ name, close, closeLimitMs });
  }

  /** Tells all parts that the end has come, without closing them yet. */
  abort(): void {
    if (!this.signal.aborted) this.#closing.abort(new Error("the program stops"));
  }

  /** Closes all parts, the last one first. @returns whether each closed in time and without an error; the log names those that did not */
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
