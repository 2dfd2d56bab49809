import type { Clock } from "@rnode/primitives";
import type { SendOutcome } from "@rnode/tx-manager";
import { DAY_MS, type Payment } from "./spend-history.ts";

const HOUR_MS = 3_600_000;

export interface SpendLimits {
  /** in wei; undefined: no limit */
  readonly perHourWei?: bigint | undefined;
  readonly perDayWei?: bigint | undefined;
}

/** Room for another transaction, or why there is none. */
export type SpendVerdict =
  | { readonly kind: "ok" }
  | {
      readonly kind: "exceeded";
      readonly limitWei: bigint;
      readonly per: "hour" | "day";
      /** paid in that time, and set aside for transactions under way */
      readonly spentWei: bigint;
      readonly underWayWei: bigint;
      /** when the oldest payment leaves the window; undefined: the transactions in flight use up the limit */
      readonly resumesAtMs: number | undefined;
    };

/**
 * What was paid to L1 in the last hour and day, and whether the limits allow more. Payments before the start of this process
 * count as far as `restore` supplied them.
 */
export class SpendLedger {
  readonly #limits: SpendLimits;
  readonly #clock: Clock;
  #payments: Payment[] = [];
  #isRestored = false;
  readonly #underWay = new Map<number, bigint>();

  constructor(limits: SpendLimits, clock: Clock) {
    this.#limits = limits;
    this.#clock = clock;
  }

  get hasLimit(): boolean {
    return this.#limits.perHourWei !== undefined || this.#limits.perDayWei !== undefined;
  }

  /** Whether earlier payments are needed: limits must survive a restart. */
  get wantsHistory(): boolean {
    return this.hasLimit && !this.#isRestored;
  }

  /** @param payments of earlier processes, in the order of their times */
  restore(payments: readonly Payment[]): void {
    this.#payments = [...payments, ...this.#payments];
    this.#isRestored = true;
  }

  /**
   * Reserves an amount for a transaction before it is sent. @param costWei its cost at current prices; twice this amount is
   * reserved, because prices may rise
   */
  reserve(id: number, costWei: bigint): void {
    this.#underWay.set(id, 2n * costWei);
  }

  settle(id: number, outcome: SendOutcome): void {
    const reserved = this.#underWay.get(id) ?? 0n;
    this.#underWay.delete(id);
    if (outcome.kind === "confirmed")
      this.#payments.push({ atMs: this.#clock.unixMs(), wei: outcome.inclusion.feeWei ?? reserved });
  }

  spentWei(withinMs: number): bigint {
    const since = this.#clock.unixMs() - withinMs;
    return this.#payments.reduce((sum, { atMs, wei }) => (atMs > since ? sum + wei : sum), 0n);
  }

  /** @param expectedWei cost of the next transaction at current prices */
  check(expectedWei: bigint): SpendVerdict {
    this.#forget();
    const underWayWei = [...this.#underWay.values()].reduce((sum, wei) => sum + wei, 0n);
    for (const [per, limitWei, windowMs] of [
      ["hour", this.#limits.perHourWei, HOUR_MS],
      ["day", this.#limits.perDayWei, DAY_MS],
    ] as const) {
      if (limitWei === undefined) continue;
      const spentWei = this.spentWei(windowMs);
      if (limitWei - spentWei - underWayWei < expectedWei) {
        const since = this.#clock.unixMs() - windowMs;
        const oldest = this.#payments.find(({ atMs }) => atMs > since);
        return { kind: "exceeded", per, limitWei, spentWei, underWayWei, resumesAtMs: oldest && oldest.atMs + windowMs };
      }
    }
    return { kind: "ok" };
  }

  #forget(): void {
    const since = this.#clock.unixMs() - DAY_MS;
    this.#payments = this.#payments.filter(({ atMs }) => atMs > since);
  }
}
