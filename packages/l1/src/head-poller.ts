import type { Clock } from "@rnode/primitives";
import type { L1BlockRef } from "@rnode/protocol";
import type { L1BlockLabel } from "./l1-client.ts";

export interface HeadPollerOptions {
  /** for the latest block; 0 or less: never */
  readonly headIntervalMs: number;
  /** for the safe and finalized blocks; 0 or less: never, and then the L2 chain never finalizes */
  readonly epochIntervalMs: number;
}

export interface HeadPollerDeps {
  readonly l1: { blockByLabel(label: L1BlockLabel): Promise<L1BlockRef | undefined> };
  readonly clock: Clock;
  readonly log: {
    info(text: string, fields?: Record<string, unknown>): void;
    warn(text: string, fields?: Record<string, unknown>): void;
  };
  /** called when the block of a label has changed */
  readonly onChange: (label: L1BlockLabel, block: L1BlockRef) => void;
}

const COMPLAIN_EVERY_MS = 30_000;

/** Polls L1 for its latest, safe and finalized blocks, each at its own interval, one request at a time. */
export class HeadPoller {
  private readonly options: HeadPollerOptions;
  private readonly deps: HeadPollerDeps;
  private readonly known = new Map<L1BlockLabel, string>();
  /** when the log last said that a label could not be read */
  private readonly complainedAtMs = new Map<L1BlockLabel, number>();
  private readonly closing = new AbortController();
  private loops: Promise<unknown> = Promise.resolve();

  constructor(options: HeadPollerOptions, deps: HeadPollerDeps) {
    this.options = options;
    this.deps = deps;
  }

  start(): void {
    this.loops = Promise.all([
      this.loop(this.options.headIntervalMs, ["latest"]),
      this.loop(this.options.epochIntervalMs, ["safe", "finalized"]),
    ]);
  }

  /** Polls the labels once; a failure is logged, and the next round tries again. */
  async poll(labels: readonly L1BlockLabel[]): Promise<void> {
    for (const label of labels) {
      try {
        const block = await this.deps.l1.blockByLabel(label);
        if (this.closing.signal.aborted) return;
        if (this.complainedAtMs.delete(label)) this.deps.log.info("L1 answers again", { label, number: block?.number });
        if (block === undefined || this.known.get(label) === block.hash) continue;
        this.known.set(label, block.hash);
        this.deps.onChange(label, block);
      } catch (error) {
        if (this.closing.signal.aborted) return;
        this.complain(label, error);
      }
    }
  }

  async close(): Promise<void> {
    this.closing.abort();
    await this.loops;
  }

  /** Logs the first failure, and afterwards one per interval. */
  private complain(label: L1BlockLabel, error: unknown): void {
    const nowMs = this.deps.clock.nowMs();
    const lastMs = this.complainedAtMs.get(label);
    if (lastMs !== undefined && nowMs - lastMs < COMPLAIN_EVERY_MS) return;
    this.complainedAtMs.set(label, nowMs);
    const reason = error instanceof Error ? error.message : String(error);
    this.deps.log.warn("cannot read the L1 head, trying again", { label, reason });
  }

  private async loop(intervalMs: number, labels: readonly L1BlockLabel[]): Promise<void> {
    if (intervalMs <= 0) return;
    while (!this.closing.signal.aborted) {
      await this.poll(labels);
      await this.deps.clock.sleep(intervalMs, this.closing.signal);
    }
  }
}
