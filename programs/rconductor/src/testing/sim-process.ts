import type { Abortable, Clock } from "@rnode/primitives";
import type { SimClock } from "@rnode/program/testing";

/** A machine's clocks: wrong by an offset, and too fast or too slow. */
export interface MachineTime {
  offsetMs: number;
  rate: number;
}

/** A program under the simulated clock. It continues only at its await points, and not while it is paused or dead. */
export class SimProcess {
  readonly #sim: SimClock;
  readonly #time: MachineTime;
  readonly #held: (() => void)[] = [];
  #state: "running" | "paused" | "dead" = "running";

  constructor(sim: SimClock, time: MachineTime) {
    this.#sim = sim;
    this.#time = time;
  }

  get isDead(): boolean {
    return this.#state === "dead";
  }

  get isRunning(): boolean {
    return this.#state === "running";
  }

  pause(): void {
    if (this.#state === "running") this.#state = "paused";
  }

  resume(): void {
    if (this.#state !== "paused") return;
    this.#state = "running";
    for (const go of this.#held.splice(0)) this.#run(go);
  }

  kill(): void {
    this.#state = "dead";
    this.#held.length = 0;
  }

  /** Wraps a promise that the program awaits. */
  gate<T>(waited: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      waited.then(
        (value) => this.#run(() => resolve(value)),
        (error: unknown) => this.#run(() => reject(error as Error)),
      );
    });
  }

  /** Its own clock. */
  get clock(): Clock {
    return {
      unixMs: () => this.#sim.unixMs() + this.#time.offsetMs,
      monotonicMs: () => this.monotonicMs(),
      sleep: (ms: number, signal?: Abortable) => this.gate(this.#sim.sleep(ms / this.#time.rate, signal)),
    };
  }

  monotonicMs(): number {
    return this.#sim.monotonicMs() * this.#time.rate;
  }

  #run(go: () => void): void {
    if (this.#state === "running") go();
    else if (this.#state === "paused") this.#held.push(go);
  }
}
