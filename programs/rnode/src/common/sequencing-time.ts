import type { Logger } from "@rnode/observe";
import type { Clock } from "@rnode/primitives";
import type { L1BlockRef } from "@rnode/protocol";

export interface SequencingTimeDeps {
  readonly clock: Pick<Clock, "unixMs" | "monotonicMs">;
  readonly l1Head: () => L1BlockRef | undefined;
  readonly log: Pick<Logger, "warn" | "info">;
}

/** NTP corrects the clock in steps up to this, which are followed at once. */
const SMALL_STEP_MS = 1_000;
/** An L1 head is at most this old when it is first seen: a slot or two until it is built, read and polled, with a margin. */
const L1_DELAY_MS = 60_000;
/** An L1 head that stays for longer than this says nothing about the present time any more. */
const L1_STALL_MS = 60_000;
/** L1 heads that advance faster than time by more than this come from an L1 client that catches up. */
const L1_CATCH_UP_MS = 30_000;
/** A step that L1 does not contradict is followed once it has lasted for this long. */
const SETTLE_MS = 120_000;
const REPEAT_MS = 60_000;

interface SeenHead {
  readonly hash: string;
  readonly unixMs: number;
  readonly seenMs: number;
  /** it came from an L1 client that is at the head of L1 */
  readonly isCurrent: boolean;
}

/**
 * The time of day that determines when blocks are due. After a jump of the clock, the time advances by `monotonicMs` until L1 or
 * two minutes confirm the new time of day, so a jump neither makes blocks from the future nor stops the chain. If nothing has
 * confirmed the clock since the start, the time is limited by the newest L1 head.
 */
export class SequencingTime {
  readonly #deps: SequencingTimeDeps;
  #anchor: { readonly unixMs: number; readonly monotonicMs: number };
  /** the time of day has agreed with a current L1 head */
  #isConfirmed = false;
  #head: SeenHead | undefined;
  #step: { readonly ms: number; readonly sinceMs: number } | undefined;
  #saidMs = Number.NEGATIVE_INFINITY;

  constructor(deps: SequencingTimeDeps) {
    this.#deps = deps;
    this.#anchor = { unixMs: deps.clock.unixMs(), monotonicMs: deps.clock.monotonicMs() };
  }

  /** @returns milliseconds since the Unix epoch */
  nowMs(): number {
    const { clock } = this.#deps;
    const unixMs = clock.unixMs();
    const monotonicMs = clock.monotonicMs();
    this.#see(this.#deps.l1Head(), monotonicMs);
    const steadyMs = this.#anchor.unixMs + monotonicMs - this.#anchor.monotonicMs;
    const stepMs = unixMs - steadyMs;
    if (Math.abs(stepMs) <= SMALL_STEP_MS) this.#endStep();
    else if (!this.#mayFollow(unixMs, steadyMs, monotonicMs)) {
      this.#say("the time of day was set: not followed until it is confirmed, blocks are timed by the monotonic clock", { stepMs });
      return this.#withinL1(steadyMs, monotonicMs);
    } else {
      this.#step = undefined;
      this.#deps.log.warn("the time of day was set, blocks follow it", { stepSec: seconds(stepMs) });
    }
    this.#anchor = { unixMs, monotonicMs };
    return this.#withinL1(unixMs, monotonicMs);
  }

  #see(head: L1BlockRef | undefined, monotonicMs: number): void {
    const before = this.#head;
    if (head === undefined || head.hash === before?.hash) return;
    const unixMs = head.timestamp * 1_000;
    const isCurrent = before === undefined || unixMs - before.unixMs <= monotonicMs - before.seenMs + L1_CATCH_UP_MS;
    this.#head = { hash: head.hash, unixMs, seenMs: monotonicMs, isCurrent };
  }

  #mayFollow(unixMs: number, steadyMs: number, monotonicMs: number): boolean {
    const stepMs = unixMs - steadyMs;
    if (this.#step === undefined || Math.abs(this.#step.ms - stepMs) > SMALL_STEP_MS)
      this.#step = { ms: stepMs, sinceMs: monotonicMs };
    if (this.#contradiction(unixMs, monotonicMs) !== "none") return false;
    return this.#contradiction(steadyMs, monotonicMs) !== "none" || monotonicMs - this.#step.sinceMs >= SETTLE_MS;
  }

  /** How the newest L1 head confirms or contradicts a time of day. */
  #contradiction(timeMs: number, monotonicMs: number): "none" | "behind" | "ahead" {
    const head = this.#head;
    if (head === undefined) return "none";
    if (timeMs < head.unixMs - SMALL_STEP_MS) return "behind";
    return timeMs > this.#latestMs(head, monotonicMs) ? "ahead" : "none";
  }

  #latestMs(head: SeenHead, monotonicMs: number): number {
    const sinceMs = monotonicMs - head.seenMs;
    return head.isCurrent && sinceMs <= L1_STALL_MS ? head.unixMs + sinceMs + L1_DELAY_MS : Number.POSITIVE_INFINITY;
  }

  /** Time never lies before the L1 head; an unconfirmed clock is bounded by the L1 head from above as well. */
  #withinL1(timeMs: number, monotonicMs: number): number {
    const head = this.#head;
    if (head === undefined) return timeMs;
    switch (this.#contradiction(timeMs, monotonicMs)) {
      case "none":
        if (head.isCurrent && this.#latestMs(head, monotonicMs) !== Number.POSITIVE_INFINITY) this.#isConfirmed = true;
        return timeMs;
      case "behind":
        this.#say("the time of day is behind the newest L1 block: set the clock of this machine", { stepMs: timeMs - head.unixMs });
        return head.unixMs;
      case "ahead":
        if (this.#isConfirmed) return timeMs;
        this.#say("the time of day is ahead of what L1's newest block allows: set the clock of this machine", {
          stepMs: timeMs - head.unixMs,
        });
        return this.#latestMs(head, monotonicMs);
    }
  }

  #endStep(): void {
    if (this.#step === undefined) return;
    this.#step = undefined;
    this.#deps.log.info("the time of day is as it was before it was set");
  }

  #say(text: string, { stepMs }: { readonly stepMs: number }): void {
    const nowMs = this.#deps.clock.monotonicMs();
    if (nowMs - this.#saidMs < REPEAT_MS) return;
    this.#saidMs = nowMs;
    this.#deps.log.warn(text, { bySec: seconds(stepMs), l1Head: this.#deps.l1Head()?.number });
  }
}

const seconds = (ms: number): number => Math.round(ms / 1_000);
