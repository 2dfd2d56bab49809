import type { Clock } from "@rnode/primitives";
import type { SimClock } from "./sim-clock.ts";

/** A new one each time: what awaits a common one would be kept with all that it refers to. */
const never = (): Promise<never> => new Promise<never>(() => {});

/** Faults of a machine's clock. They change while its programs run. */
export interface MachineTime {
  /** the time of day is so far ahead; negative: behind. Monotonic time never jumps. */
  offsetMs: number;
  /** a starved machine: how much longer each wait takes */
  lagMs: number;
  /** how fast its clocks run; 1: right */
  rate: number;
}

export const rightTime = (): MachineTime => ({ offsetMs: 0, lagMs: 0, rate: 1 });

/** A program that can be killed at any `await`: from then on, its waits never resolve, and its calls have no effect. */
export class SimProcess {
  readonly name: string;
  /** time as this process sees it */
  readonly clock: Clock;
  readonly #clock: SimClock;
  readonly #time: MachineTime;
  #isDead = false;
  /** called when a stopped process wakes */
  #held: (() => void)[] | undefined;
  #waits = 0;
  #killAt: { readonly wait: number; readonly onKilled: () => void } | undefined;

  /** @param time of its machine; default: right */
  constructor(name: string, clock: SimClock, time: MachineTime = rightTime()) {
    this.name = name;
    this.#clock = clock;
    this.#time = time;
    this.clock = {
      unixMs: () => clock.unixMs() + time.offsetMs,
      monotonicMs: () => clock.monotonicMs() * time.rate,
      sleep: (ms, signal) => this.wait(clock.sleep(ms / time.rate, signal)),
    };
  }

  get isDead(): boolean {
    return this.#isDead;
  }

  kill(): void {
    this.#isDead = true;
  }

  get isRunning(): boolean {
    return !this.#isDead && !this.isStopped;
  }

  get isStopped(): boolean {
    return this.#held !== undefined;
  }

  /** As SIGSTOP: until `wake`, nothing that it waits for reaches it. */
  stop(): void {
    this.#held ??= [];
  }

  /** As SIGCONT. */
  wake(): void {
    const held = this.#held ?? [];
    this.#held = undefined;
    for (const go of held) go();
  }

  /** Kills it in the middle of the `waits`-th wait from now. */
  killAfterWaits(waits: number, onKilled: () => void): void {
    this.#killAt = { wait: this.#waits + waits, onKilled };
  }

  /** Every `await` of something outside uses this. */
  async wait<T>(outside: Promise<T>): Promise<T> {
    if (!this.#isDead) this.#noteWait();
    if (this.#isDead) {
      outside.catch(() => {}); // the result is not needed
      return never();
    }
    try {
      const value = await outside;
      const turn = this.#turn();
      if (turn !== undefined) await turn;
      return this.#isDead ? never() : value;
    } catch (error) {
      const turn = this.#turn();
      if (turn !== undefined) await turn;
      if (this.#isDead) return never();
      throw error;
    }
  }

  /** As `SimClock.working`, for work of this process. */
  work<T>(work: Promise<T>): Promise<T> {
    return this.wait(this.#clock.working(work));
  }

  /** When the process gets the result of its wait. `undefined`: at once */
  #turn(): Promise<void> | undefined {
    const { lagMs } = this.#time;
    if (this.#held === undefined && lagMs === 0) return undefined;
    return this.#delay(lagMs);
  }

  async #delay(lagMs: number): Promise<void> {
    if (lagMs > 0) await this.#clock.sleep(lagMs);
    while (this.#held !== undefined) await new Promise<void>((go) => this.#held!.push(go));
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
