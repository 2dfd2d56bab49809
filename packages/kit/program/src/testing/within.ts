import type { Abortable, Clock } from "@rnode/primitives";

/** PERF: the platform's AbortController makes an error with a stack each time. */
class Signal implements Abortable {
  readonly #listeners = new Set<() => void>();
  aborted = false;

  addEventListener(_: "abort", listener: () => void): void {
    this.#listeners.add(listener);
  }

  removeEventListener(_: "abort", listener: () => void): void {
    this.#listeners.delete(listener);
  }

  abort(): void {
    this.aborted = true;
    for (const listener of this.#listeners) listener();
  }
}

/** @throws `late()` if `work` has not ended in time; what becomes of it then does not matter */
export async function within<T>(clock: Clock, ms: number, work: Promise<T>, late: () => Error): Promise<T> {
  work.catch(() => {});
  const over = new Signal();
  try {
    return await Promise.race([
      work,
      clock.sleep(ms, over).then((): never => {
        throw late();
      }),
    ]);
  } finally {
    over.abort();
  }
}
