export interface BackoffOptions {
  readonly maxMs: number;
  /** a number from 0 to 1; a constant makes tests repeatable */
  readonly random: () => number;
}

const JITTER_MS = 250;

/**
 * Pauses between attempts: 2 s, 4 s, 8 s … up to a maximum, with a little jitter.
 * Spec: docs/protocol/02-derivation.md#pipeline-control
 */
export class Backoff {
  private readonly options: BackoffOptions;
  private attempts = 0;

  constructor(options: BackoffOptions) {
    this.options = options;
  }

  /** Counts another failed attempt, and returns the pause that follows it. */
  nextMs(): number {
    this.attempts++;
    return Math.min(2 ** this.attempts * 1_000, this.options.maxMs) + Math.floor(this.options.random() * JITTER_MS);
  }

  get failedAttempts(): number {
    return this.attempts;
  }

  succeed(): void {
    this.attempts = 0;
  }
}
