import type { Logger } from "@rnode/observe";
import { Alarm, Backoff, backoffMs, type Clock, codedErrors } from "@rnode/primitives";
import type { DriverSignals } from "./common/driver-signals.ts";
import type { FoundHeads } from "./common/found-heads.ts";
import { headsAfterReset } from "./common/heads.ts";
import type { Progress, Trouble } from "./common/progress.ts";
import type { EngineControl } from "./engine/engine-control.ts";
import type { Sequencer } from "./sequencing/sequencer.ts";
import type { ExecutionLayerSync } from "./unsafe/execution-layer-sync.ts";
import type { UnsafeGap } from "./unsafe/unsafe-gap.ts";
import type { UnsafeInserter } from "./unsafe/unsafe-inserter.ts";
import type { DriverPart, Verification } from "./verification.ts";

type DriverErrorCode =
  /** an operator has to act; `reason` says what is wrong */
  | "driver/critical"
  /** too many commands are waiting */
  | "driver/busy"
  | "driver/closing";

class DriverError extends codedErrors<DriverErrorCode>({
  "driver/critical": "{part}: {reason}",
  "driver/busy": "{reason}",
  "driver/closing": "{reason}",
}) {}

export interface DriverDeps {
  readonly signals: DriverSignals;
  readonly control: EngineControl;
  readonly sequencer: Sequencer;
  readonly unsafe: UnsafeInserter;
  readonly verification: Pick<Verification, "parts" | "reset" | "holdsBack">;
  /** syncs the engine before anything else is done; undefined: it is not to be synced */
  readonly engineSync?: Pick<ExecutionLayerSync, "isUnfinished" | "turn" | "dueInMs"> | undefined;
  readonly gap: Pick<UnsafeGap, "turn" | "dueInMs">;
  readonly findHeads: () => Promise<FoundHeads>;
  readonly clock: Clock;
  /** a number from 0 to 1, for the jitter of pauses */
  readonly random: () => number;
  /** called after each turn */
  readonly onTurn?: (() => void) | undefined;
  readonly log: Logger;
  readonly metrics: { reset(): void; derivationError(): void; turnDone?(): void };
}

/**
 * Spec: docs/protocol/02-derivation.md#pipeline-control. The longest pause is half of op-node's: a node whose engine or L1 is well again goes on
 * within two blocks and a lease.
 */
const PAUSES = { firstMs: 2_000, maxMs: 5_000 };
const RESET_PAUSES = { firstMs: 2_000, maxMs: 10_000 };
/** between two turns in which nothing is due */
const LONGEST_SLEEP_MS = 10_000;
const JITTER_MS = 250;
/** More resets per minute than this do not help: the log says so, and further resets wait. */
const MAX_RESETS_A_MINUTE = 5;
const MINUTE_MS = 60_000;
/** Limit for commands of operators, who wait for their answers. */
const MAX_WAITING_COMMANDS = 32;

interface Part extends DriverPart {
  /** whether it makes or inserts blocks on the unsafe head */
  readonly extendsHead: boolean;
  readonly backoff: Backoff;
  retryAtMs: number;
}

/**
 * The one loop of the node. Each turn goes through these, in this order: the operator's commands; a reset if one is due; the sequencer,
 * because blocks are due at fixed times; blocks from other nodes; safe and final blocks, from L1 or from another node; updating the engine. A part that fails
 * pauses, for longer and longer, while the others go on; once one of them works again, all of them try. An execution-layer sync comes
 * before all of them, except for the commands.
 */
export class Driver {
  private readonly deps: DriverDeps;
  private readonly parts: readonly Part[];
  private readonly engineSyncPart: Part | undefined;
  private readonly resetBackoff: Backoff;
  private commands: (() => Promise<void>)[] = [];
  private readonly closing = new AbortController();
  private resetAtMs = 0;
  private recentResetsMs: number[] = [];

  constructor(deps: DriverDeps) {
    this.deps = deps;
    const part = (of: DriverPart, extendsHead = false): Part => ({ ...of, extendsHead, backoff: this.newBackoff(), retryAtMs: 0 });
    const { sequencer, unsafe, verification } = deps;
    this.parts = [
      part({ name: "sequencer", turn: () => sequencer.turn(), dueInMs: () => sequencer.dueInMs() }, true),
      part({ name: "unsafe blocks", turn: () => unsafe.turn() }, true),
      ...verification.parts.map((of) => part(of)),
      part({ name: "fork choice", turn: () => this.sendForkchoice() }),
    ];
    const { engineSync } = deps;
    this.engineSyncPart = engineSync && part({ name: "execution-layer sync", turn: () => engineSync.turn() });
    this.resetBackoff = this.newBackoff();
  }

  /** Why the heads are being searched; undefined in normal operation. */
  get resetUnderWay(): string | undefined {
    return this.deps.signals.resetReason;
  }

  /** The heads are to be found again: whatever the sequencer is building is given up. */
  requestReset(reason: string): void {
    this.deps.sequencer.fence();
    this.deps.signals.requestReset(reason);
  }

  /**
   * Runs `task` between two turns, so that nothing changes meanwhile. Rejects if the task does.
   *
   * @throws {CodedError} driver/busy, driver/closing: `reason` explains it in words
   */
  run<T>(task: () => T | Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      if (this.closing.signal.aborted) {
        reject(new DriverError("driver/closing", { reason: "the node is shutting down" }));
        return;
      }
      if (this.commands.length >= MAX_WAITING_COMMANDS) {
        const reason = `the node is busy: ${this.commands.length} commands wait already`;
        reject(new DriverError("driver/busy", { reason }));
        return;
      }
      this.commands.push(async () => {
        try {
          resolve(await task());
        } catch (error) {
          reject(error instanceof Error ? error : new Error(String(error)));
        }
      });
      this.deps.signals.wake();
    });
  }

  /**
   * Runs turns until `close`.
   *
   * @throws {CodedError} driver/critical
   */
  async loop(): Promise<void> {
    try {
      while (!this.closing.signal.aborted) {
        const pauseMs = await this.turn();
        this.deps.onTurn?.();
        if (pauseMs > 0 && !this.closing.signal.aborted) await this.deps.clock.sleep(pauseMs, this.deps.signals.alarm);
      }
    } catch (error) {
      // close() also closes the connections, which can fail whatever was in progress
      if (!this.closing.signal.aborted) throw error;
    }
  }

  close(): void {
    this.closing.abort();
    this.deps.signals.wake();
  }

  /** One turn. @returns how many milliseconds there is nothing to do, unless `wake` is called */
  async turn(): Promise<number> {
    this.deps.signals.alarm = new Alarm();
    const { commands } = this;
    this.commands = [];
    for (const command of commands) await command();
    const { engineSync } = this.deps;
    if (engineSync?.isUnfinished) {
      const isBusy = await this.turnOf(this.engineSyncPart!);
      this.deps.metrics.turnDone?.();
      if (isBusy || !engineSync.isUnfinished) return 0;
      return Math.max(engineSync.dueInMs(), this.engineSyncPart!.retryAtMs - this.deps.clock.monotonicMs());
    }
    if (this.deps.signals.resetReason !== undefined) {
      this.deps.gap.turn(false);
      if (this.deps.clock.monotonicMs() >= this.resetAtMs) await this.attemptReset(this.deps.signals.resetReason);
      return this.deps.signals.resetReason === undefined ? 0 : Math.max(0, this.resetAtMs - this.deps.clock.monotonicMs());
    }
    let isBusy = false;
    for (const part of this.parts) {
      if (await this.turnOf(part)) isBusy = true;
      if (this.deps.signals.resetReason !== undefined) return 0;
    }
    if (!this.deps.verification.holdsBack && this.deps.gap.turn(true)) isBusy = true;
    this.deps.metrics.turnDone?.();
    return isBusy ? 0 : this.msUntilDue();
  }

  /** @returns whether there may be more to do at once */
  private async turnOf(part: Part): Promise<boolean> {
    if (part.retryAtMs > this.deps.clock.monotonicMs()) return false;
    if (this.isHeldBack(part)) return false;
    const progress = await part.turn();
    this.note(part, progress);
    return progress.kind === "progress";
  }

  private async sendForkchoice(): Promise<Progress> {
    if (this.deps.control.isForkchoiceSent) return { kind: "idle" };
    return this.deps.control.sendForkchoice();
  }

  private note(part: Part, progress: Progress): void {
    const { log } = this.deps;
    switch (progress.kind) {
      case "idle":
        return;
      case "progress":
        if (part.backoff.failures > 0) {
          log.info("going on", { part: part.name });
          for (const each of this.parts) each.retryAtMs = 0; // the same engine or L1 may have failed them
        }
        part.backoff.reset();
        return;
      case "temporary": {
        const pauseMs = progress.retryAfterMs ?? part.backoff.nextMs();
        part.retryAtMs = this.deps.clock.monotonicMs() + pauseMs;
        if (part.name === "derivation") this.deps.metrics.derivationError();
        log[progress.isSaid === true ? "debug" : "warn"]("trying again after a pause", {
          part: part.name,
          reason: progress.reason,
          pauseMs,
        });
        return;
      }
      case "reset":
        this.deps.signals.resetReason = progress.reason;
        return;
      case "critical":
        throw new DriverError("driver/critical", { part: part.name, reason: progress.reason });
    }
  }

  private async attemptReset(reason: string): Promise<void> {
    const { log, clock, metrics } = this.deps;
    log.info("finding the heads to start from", { reason });
    const trouble = await this.findAndSetHeads();
    if (trouble === undefined) {
      this.resetBackoff.reset();
      this.deps.signals.resetReason = undefined;
      metrics.reset();
      this.slowDownResets(reason);
      const { unsafe, safe, finalized } = this.deps.control.heads;
      log.info("starting from", { unsafe: unsafe.number, safe: safe.number, finalized: finalized.number });
      return;
    }
    if (trouble.kind === "critical") throw new DriverError("driver/critical", { part: "reset", reason: trouble.reason });
    const pauseMs = this.resetBackoff.nextMs();
    this.resetAtMs = clock.monotonicMs() + pauseMs;
    log[trouble.kind === "temporary" && trouble.isSaid === true ? "debug" : "warn"](
      "cannot find the heads yet, trying again after a pause",
      {
        reason: trouble.reason,
        pauseMs,
      },
    );
  }

  private slowDownResets(reason: string): void {
    const nowMs = this.deps.clock.monotonicMs();
    this.recentResetsMs = [...this.recentResetsMs.filter((atMs) => nowMs - atMs < MINUTE_MS), nowMs];
    const tooMany = this.recentResetsMs.length - MAX_RESETS_A_MINUTE;
    if (tooMany <= 0) return;
    const pauseMs = backoffMs(tooMany, RESET_PAUSES);
    this.resetAtMs = nowMs + pauseMs;
    this.deps.log.error("resets do not help: the same trouble comes back", {
      resetsInAMinute: this.recentResetsMs.length,
      reason,
      pauseMs,
    });
  }

  /** Finds the heads, then updates the engine, then the pipeline. @returns what went wrong; undefined: nothing */
  private async findAndSetHeads(): Promise<Trouble | undefined> {
    const found = await this.deps.findHeads();
    if (found.kind !== "found") return found;
    const { control, verification, sequencer } = this.deps;
    control.setHeads(headsAfterReset(found));
    control.forgetSentForkchoice();
    const told = await control.sendForkchoice();
    if (told.kind !== "progress" && told.kind !== "idle") return told;
    const failure = await verification.reset(found);
    if (failure !== undefined) return failure;
    sequencer.onReset();
    for (const part of this.parts) {
      part.backoff.reset();
      part.retryAtMs = 0;
    }
    return undefined;
  }

  private msUntilDue(): number {
    const nowMs = this.deps.clock.monotonicMs();
    const due = this.parts.map((part) => {
      if (part.retryAtMs > nowMs) return part.retryAtMs - nowMs;
      return this.isHeldBack(part) ? undefined : part.dueInMs?.();
    });
    if (!this.deps.verification.holdsBack) due.push(this.deps.gap.dueInMs());
    return Math.min(LONGEST_SLEEP_MS, ...due.filter((ms) => ms !== undefined));
  }

  private isHeldBack({ extendsHead }: Part): boolean {
    return extendsHead && this.deps.verification.holdsBack;
  }

  private newBackoff(): Backoff {
    return new Backoff(PAUSES, JITTER_MS, this.deps.random);
  }
}
