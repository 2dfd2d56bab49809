import type { Clock } from "@rnode/primitives";
import type { SimClock } from "@rnode/program/testing";

const NEVER = new Promise<never>(() => {});

/**
 * A program that can be killed while it waits for something, whatever that is: from then on, nothing that it waits for happens, and
 * nothing that it begins has an effect.
 */
export class SimProcess {
  readonly name: string;
  /** time as this process sees it */
  readonly clock: Clock;
  readonly #clock: SimClock;
  #isDead = false;
  #waits = 0;
  #killAt: { readonly wait: number; readonly onKilled: () => void } | undefined;

  constructor(name: string, clock: SimClock) {
    this.name = name;
    this.#clock = clock;
    this.clock = {
      unixMs: () => clock.unixMs(),
      monotonicMs: () => clock.monotonicMs(),
      sleep: (ms, signal) => this.wait(clock.sleep(ms, signal)),
    };
  }

  get isDead(): boolean {
    return this.#isDead;
  }

  kill(): void {
    this.#isDead = true;
  }

  /** Kills it in the middle of the `waits`-th wait from now. */
  killAfterWaits(waits: number, onKilled: () => void): void {
    this.#killAt = { wait: this.#waits + waits, onKilled };
  }

  /** What every `await` of something outside goes through. */
  async wait<T>(outside: Promise<T>): Promise<T> {
    if (!this.#isDead) this.#noteWait();
    if (this.#isDead) {
      outside.catch(() => {}); // nobody is there to be told
      return NEVER;
    }
    try {
      const value = await outside;
      return this.#isDead ? NEVER : value;
    } catch (error) {
      if (this.#isDead) return NEVER;
      throw error;
    }
  }

  /** As `SimClock.working`, for work of this process. */
  work<T>(work: Promise<T>): Promise<T> {
    return this.wait(this.#clock.working(work));
  }

  #noteWait(): void {
    this.#waits++;
    const killAt = this.#killAt;
    if (killAt === undefined || this.#waits < killAt.wait) return;
    this.#killAt = undefined;
    this.#isDead = true;
    killAt.onKilled();
  }
}
