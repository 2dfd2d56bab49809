import { type ThreadOverrides, WorkerHost } from "@rnode/threads";
import { KzgError } from "./kzg-error.ts";
import type { KzgAnswer, KzgQuestion } from "./questions.ts";

export interface KzgThreadData {
  readonly precompute: boolean;
}

/** An answer may be undefined, which a lost thread's is too. */
export interface Told {
  readonly told: KzgAnswer;
}

interface Waiting {
  readonly question: KzgQuestion;
  readonly resolve: (answer: KzgAnswer) => void;
  readonly reject: (error: Error) => void;
}

/** Loading the trusted setup takes two seconds of computing, which on a machine with far too much to do have taken more than half a minute. */
const MAX_SILENCE_MS = 180_000;
/** A request is repeated once if its thread was lost. */
const ATTEMPTS = 2;

/**
 * Threads with the library, each with one request at a time; other requests are queued in order. A new thread starts only if all
 * others are busy.
 */
export class KzgThreads {
  readonly #hosts: readonly WorkerHost<KzgQuestion, Told>[];
  readonly #idle: WorkerHost<KzgQuestion, Told>[];
  readonly #maxWaiting: number;
  readonly #waiting: Waiting[] = [];
  #isClosed = false;

  constructor(threads: number, maxWaiting: number, data: KzgThreadData, overrides: ThreadOverrides = {}) {
    const options = { program: new URL("./kzg-worker.js", import.meta.url), data, maxSilenceMs: MAX_SILENCE_MS, ...overrides };
    this.#hosts = Array.from({ length: threads }, () => new WorkerHost<KzgQuestion, Told>(options));
    this.#idle = [...this.#hosts].reverse();
    this.#maxWaiting = maxWaiting;
  }

  /** questions that wait for a thread */
  get waiting(): number {
    return this.#waiting.length;
  }

  /** @throws {KzgError} kzg/busy, kzg/unavailable, kzg/closed */
  ask(question: KzgQuestion): Promise<KzgAnswer> {
    if (this.#isClosed) return Promise.reject(new KzgError("kzg/closed"));
    if (this.#waiting.length >= this.#maxWaiting) {
      return Promise.reject(new KzgError("kzg/busy", { waiting: this.#waiting.length }));
    }
    return new Promise((resolve, reject) => {
      this.#waiting.push({ question, resolve, reject });
      this.#askNext();
    });
  }

  #askNext(): void {
    const host = this.#idle.at(-1);
    const next = host && this.#waiting.shift();
    if (next === undefined) return;
    this.#idle.pop();
    void this.#answer(host!, next).finally(() => {
      this.#idle.push(host!); // the last used thread first, because its library is loaded
      this.#askNext();
    });
  }

  async #answer(host: WorkerHost<KzgQuestion, Told>, { question, resolve, reject }: Waiting): Promise<void> {
    for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
      const answer = await host.ask(question);
      if (answer !== undefined) return resolve(answer.told);
      if (this.#isClosed) return reject(new KzgError("kzg/closed"));
    }
    reject(new KzgError("kzg/unavailable", { reason: "the thread that computes commitments was lost", losses: host.losses }));
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const { reject } of this.#waiting.splice(0)) reject(new KzgError("kzg/closed"));
    await Promise.all(this.#hosts.map((host) => host.close()));
  }
}
