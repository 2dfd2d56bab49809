import { describeExit, type Program, ProgramFailure } from "./program.ts";

export interface SupervisorOptions {
  /** false: a program that ends stays down, which is reported but not a failure */
  readonly isOn: boolean;
  readonly log: (line: string) => void;
}

const FIRST_DELAY_MS = 500;
const MAX_DELAY_MS = 10_000;
/** After more unexpected exits than this within the window, the program is not restarted. */
const MAX_EXITS = 5;
const WINDOW_MS = 60_000;

/** Restarts programs that end by themselves. */
export class Supervisor {
  /** rejects with the program that is not restarted */
  readonly failure: Promise<never>;
  readonly #options: SupervisorOptions;
  readonly #timers = new Set<NodeJS.Timeout>();
  #fail: (reason: Error) => void = () => {};
  #closed = false;

  constructor(options: SupervisorOptions) {
    this.#options = options;
    this.failure = new Promise((_, reject) => {
      this.#fail = reject;
    });
    this.failure.catch(() => {}); // it need not be awaited
  }

  watch(program: Program): void {
    const exits: number[] = [];
    program.onUnexpectedExit = (exit) => {
      if (this.#closed) return;
      const nowMs = performance.now();
      exits.push(nowMs);
      const recent = exits.filter((atMs) => nowMs - atMs < WINDOW_MS).length;
      const what = describeExit(exit);
      if (!this.#options.isOn) {
        this.#options.log(new ProgramFailure(program.spec, what).message);
        return;
      }
      if (recent > MAX_EXITS) {
        this.#fail(new ProgramFailure(program.spec, `${what}, for the ${recent}th time within a minute: given up`));
        return;
      }
      const delayMs = Math.min(MAX_DELAY_MS, FIRST_DELAY_MS * 2 ** (recent - 1));
      this.#options.log(`${program.spec.name} ${what}: starting it again in ${delayMs / 1000} s (log: ${program.spec.logPath})`);
      this.#later(delayMs, program);
    };
  }

  close(): void {
    this.#closed = true;
    for (const timer of this.#timers) clearTimeout(timer);
  }

  #later(delayMs: number, program: Program): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      // it may have been started in the meantime
      if (this.#closed || program.isRunning) return;
      program.start().then(
        () => this.#options.log(`${program.spec.name} is up again`),
        (error: unknown) => {
          if (!this.#closed) this.#fail(error instanceof Error ? error : new Error(String(error)));
        },
      );
    }, delayMs);
    this.#timers.add(timer);
  }
}
