import type { LogFields, Logger } from "@rnode/observe";
import type { Clock } from "@rnode/primitives";
import type { SourceReport, SourceResult, SourceTrouble } from "./follow-source.ts";

export interface SourceHealthDeps {
  readonly name: string;
  readonly clock: Pick<Clock, "monotonicMs">;
  readonly log: Logger;
  readonly metrics: { request(result: SourceResult): void };
}

/** The node is not ready if the source has brought nothing new for this long, although L1 has new blocks. */
const STALL_MS = 60_000;
/** L1 blocks that a source may take to show one of them: it reads L1 and derives. */
const STALL_L1_BLOCKS = 3;
/** The same kind of trouble is logged again after this. */
const REPEAT_MS = 600_000;
const MAX_KINDS = 64;

/** Whether the source answers, is followed, and comes further. Each trouble is logged once, not at each request. */
export class SourceHealth {
  private readonly deps: SourceHealthDeps;
  private trouble: (SourceTrouble & { readonly sinceMs: number }) | undefined;
  /** since when the trouble lasts that was logged as a warning; until the source is followed again */
  private warnedSinceMs: number | undefined;
  /** when each kind of trouble was last logged, by its text without numbers and hashes; no answer is one kind */
  private readonly saidMs = new Map<string, number>();
  /** when a report was last further than all before it */
  private movedMs: number;
  private l1HeadsSince = 0;
  /** what a report waits for, although the source is right */
  private waitsFor: string | undefined;
  /** the highest numbers of the reports: local safe, safe, finalized, current L1 block */
  private furthest = [-1, -1, -1, -1];

  constructor(deps: SourceHealthDeps) {
    this.deps = deps;
    this.movedMs = deps.clock.monotonicMs();
  }

  onL1Head(): void {
    this.l1HeadsSince++;
  }

  /** The source's report is right, but cannot be in effect yet. */
  waiting(reason: string): void {
    this.deps.metrics.request("success");
    this.trouble = undefined;
    this.waitsFor = reason;
  }

  /** The source's report is in effect. */
  followed(report: SourceReport): void {
    const { clock, log, metrics, name } = this.deps;
    metrics.request("success");
    this.waitsFor = undefined;
    const nowMs = clock.monotonicMs();
    if (this.warnedSinceMs !== undefined) {
      log.info("the source is followed again", { source: name, afterSec: Math.round((nowMs - this.warnedSinceMs) / 1_000) });
    }
    this.warnedSinceMs = undefined;
    this.trouble = undefined;
    const numbers = [report.localSafe, report.safe, report.finalized, report.currentL1].map(({ number }) => number);
    if (!numbers.some((number, at) => number > this.furthest[at]!)) return;
    this.furthest = numbers.map((number, at) => Math.max(number, this.furthest[at]!));
    this.movedMs = nowMs;
    this.l1HeadsSince = 0;
  }

  /** The source cannot be followed. */
  troubled({ result, reason }: SourceTrouble): void {
    const { clock, log, metrics, name } = this.deps;
    metrics.request(result);
    const nowMs = clock.monotonicMs();
    this.waitsFor = undefined;
    const key = result === "error_fetch_status" ? result : `${result} ${reason.replace(/0x[0-9a-f]+|\d+/g, "#")}`;
    const isDue = nowMs - (this.saidMs.get(key) ?? Number.NEGATIVE_INFINITY) >= REPEAT_MS;
    if (isDue) this.saidMs.set(key, nowMs);
    if (this.saidMs.size > MAX_KINDS) this.saidMs.clear();
    const sinceMs = this.trouble?.sinceMs ?? nowMs;
    this.trouble = { result, reason, sinceMs };
    if (isDue) this.warnedSinceMs ??= sinceMs;
    const fields = { source: name, result, reason, forSec: Math.round((nowMs - sinceMs) / 1_000) };
    log[isDue ? "warn" : "debug"]("the source is not followed at the moment", fields);
  }

  /** Time since the source last brought something new; 0 while neither L1 nor the source shows that it should have. */
  get stalledSec(): number {
    if (this.trouble === undefined && this.l1HeadsSince < STALL_L1_BLOCKS) return 0;
    return (this.deps.clock.monotonicMs() - this.movedMs) / 1_000;
  }

  get faults(): readonly string[] {
    const { stalledSec, reason } = this;
    if (stalledSec * 1_000 < STALL_MS) return [];
    const why = reason ?? "it answers, but neither its heads nor its L1 block move";
    return [`the source ${this.deps.name} has brought nothing new for ${Math.round(stalledSec)} s: ${why}`];
  }

  /** For the status line: what is wrong with the source, and for how long. */
  get status(): LogFields {
    const { stalledSec, reason } = this;
    if (stalledSec * 1_000 >= STALL_MS) return { sourceStalledSec: Math.round(stalledSec), source: reason ?? "stands still" };
    return reason === undefined ? {} : { source: reason };
  }

  private get reason(): string | undefined {
    return this.trouble?.reason ?? this.waitsFor;
  }
}
