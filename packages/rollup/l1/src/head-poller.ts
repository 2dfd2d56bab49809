import type { Clock } from "@rnode/primitives";
import type { L1BlockRef } from "@rnode/protocol";
import type { L1BlockLabel } from "./l1-client.ts";
import { isNewerL1 } from "./l1-error.ts";

export interface HeadPollerOptions {
  /** for the latest block; 0 or less: never */
  readonly headIntervalMs: number;
  /** for the safe and finalized blocks; 0 or less: never, and then the L2 chain never finalizes */
  readonly epochIntervalMs: number;
}

export interface HeadPollerDeps {
  readonly l1: {
    blockByLabel(label: L1BlockLabel): Promise<L1BlockRef | undefined>;
    /** `undefined`: the endpoint has no notifications of new heads */
    subscribeToHeads?(onHead: (block: L1BlockRef | undefined) => void): Promise<HeadSubscription | undefined>;
  };
  readonly clock: Clock;
  readonly log: {
    info(text: string, fields?: Record<string, unknown>): void;
    warn(text: string, fields?: Record<string, unknown>): void;
  };
  /** called when the block of a label has changed */
  readonly onChange: (label: L1BlockLabel, block: L1BlockRef) => void;
}

export interface HeadSubscription {
  readonly ended: Promise<void>;
  close(): void;
}

/** Pause before a subscription that ended is renewed. Spec: docs/protocol/05-services.md#l1-execution-client-access */
const RESUBSCRIBE_MS = 10_000;
/** After this time without a new head from a subscription, L1 is polled. */
const MAX_SILENCE_MS = 60_000;
const COMPLAIN_EVERY_MS = 30_000;

/**
 * Follows the latest, safe and finalized blocks of L1: by polling, each at its own interval, one request at a time. New heads are subscribed
 * to where the endpoint can do that; then they are not polled for.
 */
export class HeadPoller {
  private readonly options: HeadPollerOptions;
  private readonly deps: HeadPollerDeps;
  private readonly known = new Map<L1BlockLabel, string>();
  /** time of the last log line about an unreadable label */
  private readonly complainedAtMs = new Map<L1BlockLabel, number>();
  private readonly closing = new AbortController();
  private loops: Promise<unknown> = Promise.resolve();

  constructor(options: HeadPollerOptions, deps: HeadPollerDeps) {
    this.options = options;
    this.deps = deps;
  }

  start(): void {
    this.loops = Promise.all([this.followHead(), this.loop(this.options.epochIntervalMs, ["safe", "finalized"])]);
  }

  /** Polls the labels once; a failure is logged, and the next round tries again. */
  async poll(labels: readonly L1BlockLabel[]): Promise<void> {
    for (const label of labels) {
      try {
        const block = await this.deps.l1.blockByLabel(label);
        if (this.closing.signal.aborted) return;
        if (this.complainedAtMs.delete(label)) this.deps.log.info("L1 answers again", { label, number: block?.number });
        if (block !== undefined) this.note(label, block);
      } catch (error) {
        if (this.closing.signal.aborted) return;
        this.complain(label, error);
      }
    }
  }

  private note(label: L1BlockLabel, block: L1BlockRef): void {
    if (this.known.get(label) === block.hash) return;
    this.known.set(label, block.hash);
    this.deps.onChange(label, block);
  }

  private async followHead(): Promise<void> {
    const { clock, log } = this.deps;
    const { signal } = this.closing;
    while (!signal.aborted) {
      const heard = { atMs: clock.monotonicMs() };
      const subscription = await this.subscribe((block) => {
        if (signal.aborted) return;
        heard.atMs = clock.monotonicMs();
        if (block === undefined) void this.poll(["latest"]);
        else this.note("latest", block);
      });
      if (subscription === undefined) {
        if (this.options.headIntervalMs <= 0) return;
        await this.poll(["latest"]);
        await clock.sleep(this.options.headIntervalMs, signal);
        continue;
      }
      log.info("L1 says when there is a new head");
      await this.poll(["latest"]);
      await this.untilEnded(subscription, heard);
      if (signal.aborted) return;
      log.warn("the subscription to new L1 heads ended, renewing it", { pauseMs: RESUBSCRIBE_MS });
      await this.poll(["latest"]);
      await clock.sleep(RESUBSCRIBE_MS, signal);
    }
  }

  private async subscribe(onHead: (block: L1BlockRef | undefined) => void): Promise<HeadSubscription | undefined> {
    try {
      return await this.deps.l1.subscribeToHeads?.(onHead);
    } catch (error) {
      if (!this.closing.signal.aborted) this.complain("latest", error);
      return undefined;
    }
  }

  private async untilEnded(subscription: HeadSubscription, heard: { readonly atMs: number }): Promise<void> {
    const { clock } = this.deps;
    let hasEnded = false;
    const over = new AbortController();
    const end = (): void => over.abort();
    this.closing.signal.addEventListener("abort", end, { once: true });
    void subscription.ended.then(() => {
      hasEnded = true;
      end();
    });
    while (!over.signal.aborted) {
      await clock.sleep(Math.max(1, heard.atMs + MAX_SILENCE_MS - clock.monotonicMs()), over.signal);
      if (over.signal.aborted || clock.monotonicMs() - heard.atMs < MAX_SILENCE_MS) continue;
      await this.poll(["latest"]);
      if (!over.signal.aborted) await clock.sleep(Math.max(this.options.headIntervalMs, RESUBSCRIBE_MS), over.signal);
    }
    this.closing.signal.removeEventListener("abort", end);
    if (!hasEnded) subscription.close();
  }

  async close(): Promise<void> {
    this.closing.abort();
    await this.loops;
  }

  /** Logs the first failure, and afterwards one per interval. */
  private complain(label: L1BlockLabel, error: unknown): void {
    const nowMs = this.deps.clock.monotonicMs();
    const lastMs = this.complainedAtMs.get(label);
    if (lastMs !== undefined && nowMs - lastMs < COMPLAIN_EVERY_MS) return;
    this.complainedAtMs.set(label, nowMs);
    const reason = error instanceof Error ? error.message : String(error);
    if (!isNewerL1(error)) this.deps.log.warn("cannot read the L1 head, trying again", { label, reason });
  }

  private async loop(intervalMs: number, labels: readonly L1BlockLabel[]): Promise<void> {
    if (intervalMs <= 0) return;
    while (!this.closing.signal.aborted) {
      await this.poll(labels);
      await this.deps.clock.sleep(intervalMs, this.closing.signal);
    }
  }
}
