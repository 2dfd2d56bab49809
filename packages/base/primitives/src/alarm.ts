import type { Abortable } from "./clock.ts";

/**
 * Wakes whoever sleeps with it, once. PERF: a loop that is woken often makes thousands of these; an `AbortController` of Node costs some
 * twenty times as much, most of it for the error that says why it was aborted.
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
