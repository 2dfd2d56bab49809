import type { AccessListFilter } from "./access-list-filter.ts";
import type { CrossUnsafe } from "./cross-unsafe.ts";
import type { ChainLabels, LabelledChain } from "./labelled-chain.ts";
import type { SetDatabase } from "./set-database.ts";
import type { Round, VerifiedMessage } from "./set-verifier.ts";

export interface SetStatusDeps {
  /** by ascending chain id */
  readonly chains: readonly LabelledChain[];
  readonly database: SetDatabase;
  readonly crossUnsafe: CrossUnsafe;
  readonly filter: Pick<AccessListFilter, "failsafe">;
}

export interface ChainOfSetStatus {
  readonly chainId: bigint;
  readonly labels: ChainLabels | undefined;
  /** numbers of blocks */
  readonly crossUnsafe: number | undefined;
  readonly crossSafe: number | undefined;
  /** whether the next round waits for it */
  readonly isWaitedFor: boolean;
  readonly denied: number;
}

const MESSAGES_KEPT = 50;

/** What verification of a set has come to, for metrics, readiness and the dashboard. */
export class SetStatus {
  /** what the next round waits for */
  waitsFor: string | undefined;
  rewinds = 0;
  /** the newest verified messages, the oldest first */
  readonly recent: VerifiedMessage[] = [];
  private readonly deps: SetStatusDeps;
  private readonly counts = new Map<string, { readonly from: bigint; readonly to: bigint; count: number }>();
  private waitedFor: readonly bigint[] = [];
  /** why the last attempt at a round failed; `undefined`: it did not */
  private trouble: string | undefined;

  constructor(deps: SetStatusDeps) {
    this.deps = deps;
  }

  noteTrouble(reason: string): void {
    this.trouble = reason;
  }

  note(round: Round): void {
    this.trouble = undefined;
    this.waitsFor = round.kind === "waiting" ? round.reason : undefined;
    this.waitedFor = round.kind === "waiting" ? (round.chainIds ?? []) : [];
    if (round.kind === "rewound") this.rewinds++;
    if (round.kind !== "verified") return;
    for (const message of round.messages) {
      const { from, to } = message;
      const key = `${from} ${to}`;
      const known = this.counts.get(key) ?? { from, to, count: 0 };
      this.counts.set(key, known);
      known.count++;
      if (this.recent.push(message) > MESSAGES_KEPT) this.recent.shift();
    }
  }

  /** Times up to which messages were read, are valid in unsafe blocks, and are verified, in seconds. */
  times() {
    const { crossUnsafe, database } = this.deps;
    return {
      read: crossUnsafe.readToTimestamp,
      "cross-unsafe": crossUnsafe.timestamp,
      "cross-safe": database.verified.last?.timestamp,
    };
  }

  chains(): ChainOfSetStatus[] {
    const { chains, database, crossUnsafe } = this.deps;
    const { last } = database.verified;
    return chains.map(({ chainId, labels }) => ({
      chainId,
      labels,
      crossUnsafe: crossUnsafe.headOf(chainId)?.number,
      crossSafe: last?.heads.get(chainId)?.number,
      isWaitedFor: this.waitedFor.includes(chainId),
      denied: database.denied.count(chainId),
    }));
  }

  messages(): { readonly from: bigint; readonly to: bigint; readonly count: number }[] {
    return [...this.counts.values()];
  }

  failsafe(): readonly string[] {
    return this.deps.filter.failsafe;
  }

  /** Why its answers cannot be relied on; empty: they can. */
  get faults(): string[] {
    return this.trouble === undefined ? [] : [`verification of the set: ${this.trouble}`];
  }
}
