import { Backoff } from "@rnode/primitives";
import type { Fitness } from "../cluster/records.ts";

/** All that the decision depends on. */
export interface Situation {
  /** monotonic */
  readonly nowMs: number;
  readonly isLeader: boolean;
  /** the cluster's roster lets it */
  readonly mayLead: boolean;
  readonly fitness: Fitness;
  /** whether the unsafe head moves */
  readonly isProgressing: boolean;
  /** whether its sequencer makes blocks, as far as is known */
  readonly isActive: boolean;
  /** whether another member may lead and its sequencer could */
  readonly canOthersLead: boolean;
  /** whether no other eligible member has more blocks */
  readonly hasMostBlocks: boolean;
  /** conductor_pause: elections go on, and the conductor does not control the sequencer */
  readonly isPaused: boolean;
  readonly isStopped: boolean;
}

export type Decision =
  | { readonly kind: "none" }
  | { readonly kind: "start" | "stop" | "resign" | "hand-over"; readonly why: string };

export interface MachineOptions {
  /** a leader whose sequencer cannot be started gives others the chance after this time */
  readonly startLimitMs: number;
  /** how long a stalled chain may take to make progress under a new leader */
  readonly stallGraceMs: number;
}

const MIN_BACKOFF_MS = 250;
const MAX_BACKOFF_MS = 2_000;
const NONE: Decision = { kind: "none" };

/**
 * Decides how to bring the sequencer into the state that leadership and health require, by upstream's table of leader × healthy ×
 * active. It has no clock and no I/O: the same inputs give the same decisions.
 */
export class SequencerMachine {
  readonly #options: MachineOptions;
  #wasLeader = false;
  /** the sequencer was started while the chain was stalled */
  #stalledSinceStart = false;
  #startedAtMs = Number.NEGATIVE_INFINITY;
  /** since when starts fail */
  #failingSinceMs: number | undefined;
  readonly #backoff = new Backoff({ firstMs: MIN_BACKOFF_MS, maxMs: MAX_BACKOFF_MS });
  #retryAtMs = Number.NEGATIVE_INFINITY;
  /** the sequencer has gone another way than the committed blocks */
  #mustRestart = false;

  constructor(options: MachineOptions) {
    this.#options = options;
  }

  /** A block was not committed because it does not follow the last committed one. */
  noteConflict(): void {
    this.#mustRestart = true;
  }

  decide(situation: Situation): Decision {
    const { nowMs, isLeader, isPaused, isStopped } = situation;
    if (isLeader !== this.#wasLeader) {
      this.#wasLeader = isLeader;
      this.#failingSinceMs = undefined;
      this.#mustRestart = false;
      this.#stalledSinceStart = false;
      this.#resetBackoff();
    }
    if (isPaused || isStopped || nowMs < this.#retryAtMs) return NONE;
    if (!isLeader) return situation.isActive ? { kind: "stop", why: "another one leads" } : NONE;
    if (!situation.mayLead) return { kind: "hand-over", why: "it is no voter any more" };
    return situation.isActive ? this.#leaderActive(situation) : this.#leaderInactive(situation);
  }

  /** How an action went. */
  done(
    { kind }: Exclude<Decision, { kind: "none" }>,
    isDone: boolean,
    { nowMs, fitness }: Pick<Situation, "nowMs" | "fitness">,
  ): void {
    if (!isDone) {
      if (kind === "start") this.#failingSinceMs ??= nowMs;
      this.#retryAtMs = nowMs + this.#backoff.nextMs();
      return;
    }
    this.#resetBackoff();
    switch (kind) {
      case "start":
        this.#failingSinceMs = undefined;
        this.#startedAtMs = nowMs;
        this.#stalledSinceStart = fitness !== "healthy";
        break;
      case "stop":
        this.#mustRestart = false;
        break;
      case "resign":
      case "hand-over":
        this.#failingSinceMs = undefined;
        this.#mustRestart = false;
        break;
    }
  }

  #leaderInactive({ nowMs, fitness, canOthersLead }: Situation): Decision {
    this.#mustRestart = false;
    if (this.#failingSinceMs !== undefined && nowMs - this.#failingSinceMs > this.#options.startLimitMs && canOthersLead)
      return { kind: "resign", why: "the sequencer cannot be started" };
    switch (fitness) {
      case "healthy":
        return { kind: "start", why: "it leads" };
      case "stalled":
        return { kind: "start", why: "it leads, and the chain stands still" };
      case "unfit":
        return canOthersLead
          ? { kind: "resign", why: "it is not fit" }
          : { kind: "start", why: "it leads, and no other is fitter" };
      case "down":
        return canOthersLead ? { kind: "resign", why: "its programs do not answer" } : NONE;
    }
  }

  #leaderActive({ nowMs, fitness, isProgressing, canOthersLead, hasMostBlocks }: Situation): Decision {
    if (this.#mustRestart) return { kind: "stop", why: "it does not continue the committed blocks" };
    switch (fitness) {
      case "healthy":
        this.#stalledSinceStart = false;
        return NONE;
      case "stalled": {
        const isInGrace = nowMs - this.#startedAtMs < this.#options.stallGraceMs;
        if (this.#stalledSinceStart && (isProgressing || isInGrace)) return NONE;
        // Members that lack its blocks would have to fetch them first: it catches up sooner.
        if (isProgressing && hasMostBlocks) return NONE;
        return canOthersLead ? { kind: "hand-over", why: "its chain stands still" } : NONE;
      }
      case "unfit":
        return canOthersLead ? { kind: "hand-over", why: "it is not fit" } : NONE;
      case "down":
        return canOthersLead ? { kind: "hand-over", why: "its programs do not answer" } : NONE;
    }
  }

  #resetBackoff(): void {
    this.#backoff.reset();
    this.#retryAtMs = Number.NEGATIVE_INFINITY;
  }
}
