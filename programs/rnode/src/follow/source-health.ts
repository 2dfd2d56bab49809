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
/** Trouble that lasts is said again after this. */
const REPEAT_MS = 600_000;

/** Whether the source answers, is followed, and comes further. Each trouble is logged once, not at each request. */
export class SourceHealth {
  private readonly deps: SourceHealthDeps;
  private trouble: (SourceTrouble & { readonly sinceMs: number; readonly saidMs: number }) | undefined;
  /** of the last report that differed from the one before */
  private movedMs: number;
  private l1HeadsSince = 0;
  /** what a report waits for, although the source is right */
  private waitsFor: string | undefined;
  private last: SourceReport | undefined;

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
    const isNew = this.last === undefined || keyOf(this.last) !== keyOf(report);
    if (this.trouble !== undefined) {
      log.info("the source is followed again", { source: name, afterSec: Math.round((nowMs - this.trouble.sinceMs) / 1_000) });
      this.trouble = undefined;
    }
    if (!isNew) return;
    this.last = report;
    this.movedMs = nowMs;
    this.l1HeadsSince = 0;
  }

  /** The source cannot be followed. */
  troubled({ result, reason }: SourceTrouble): void {
    const { clock, log, metrics, name } = this.deps;
    metrics.request(result);
    const nowMs = clock.monotonicMs();
    const before = this.trouble;
    this.waitsFor = undefined;
    const sinceMs = before?.sinceMs ?? nowMs;
    const isSaid = before !== undefined && before.result === result && nowMs - before.saidMs < REPEAT_MS;
    this.trouble = { result, reason, sinceMs, saidMs: isSaid ? before.saidMs : nowMs };
    const fields = { source: name, result, reason, forSec: Math.round((nowMs - sinceMs) / 1_000) };
    log[isSaid ? "debug" : "warn"]("the source is not followed at the moment", fields);
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

const keyOf = ({ localSafe, safe, finalized, currentL1 }: SourceReport): string =>
  [localSafe, safe, finalized, currentL1].map(({ hash }) => hash).join();
