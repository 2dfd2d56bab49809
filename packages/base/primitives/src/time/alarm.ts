import type { Abortable } from "./clock.ts";

/**
 * Wakes its sleeper, once. PERF: a busy loop creates thousands of these. An `AbortController` of Node costs some twenty times as
 * much, mostly for its error object.
 */
export class Alarm implements Abortable {
  #hasRung = false;
  readonly #listeners = new Set<() => void>();

  get aborted(): boolean {
    return this.#hasRung;
  }

  ring(): void {
    if (this.#hasRung) return;
    this.#hasRung = true;
    for (const listener of [...this.#listeners]) listener();
    this.#listeners.clear();
  }

  addEventListener(_type: "abort", listener: () => void): void {
    this.#listeners.add(listener);
  }

  removeEventListener(_type: "abort", listener: () => void): void {
    this.#listeners.delete(listener);
  }
}
