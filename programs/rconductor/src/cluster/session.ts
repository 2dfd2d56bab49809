import { errorText, type Logger } from "@rnode/observe";
import type { Clock } from "@rnode/primitives";
import { ConductorError } from "../conductor-error.ts";
import type { Etcd, Operation } from "../etcd/etcd-api.ts";
import { EtcdError } from "../etcd/etcd-error.ts";
import { type Candidate, checkCampaign } from "./campaign.ts";
import { type ClusterView, readCluster } from "./cluster-view.ts";
import type { ClusterKeys } from "./keys.ts";
import { type MemberRecord, type RosterRecord, recordToBytes } from "./records.ts";

export interface SessionOptions {
  readonly id: string;
  /** of the lease; etcd's shortest depends on its election timeout: 2 s by default */
  readonly leaseTtlSec: number;
  /** between two looks at the cluster */
  readonly pollIntervalMs: number;
  /** the interval at which the leader compacts past revisions of etcd; 0: never */
  readonly compactionIntervalMs: number;
}

export interface SessionDeps {
  readonly etcd: Etcd;
  readonly keys: ClusterKeys;
  readonly clock: Clock;
  /** time that never jumps, for the life of the lease */
  readonly monotonicMs: () => number;
  readonly log: Logger;
  /** the record of this member in etcd */
  readonly self: () => MemberRecord;
  readonly candidate: () => Omit<Candidate, "id">;
  /** something has changed that decisions depend on */
  readonly onChange: () => void;
}

/** Leadership, as long as the lease lives. */
export interface Leadership {
  /** create revision of the leader key: every later leader has a higher one */
  readonly fence: number;
}

/** A member for which etcd's answers take longer than this part of the lease lets others lead first. */
const SLOW_LINK_PART = 6;
/** For so long after a transfer, only the chosen member may take over. */
const TRANSFER_TTL_SEC = 5;

/**
 * A conductor's part in the cluster: its lease, its member record, and the leader key, which exactly one member can hold. The
 * cached state may be out of date; commits depend only on the state in etcd (`CommitStore`).
 */
export class ClusterSession {
  readonly #options: SessionOptions;
  readonly #deps: SessionDeps;
  readonly #closing = new AbortController();
  #leaseId: string | undefined;
  /** by the monotonic clock */
  #leaseEndsMs = Number.NEGATIVE_INFINITY;
  #renewAtMs = 0;
  #view: ClusterView | undefined;
  #viewAtMs = Number.NEGATIVE_INFINITY;
  /** JSON of the entry that etcd has */
  #written = "";
  #leaderlessSinceMs: number | undefined;
  #holdOffUntilMs = Number.NEGATIVE_INFINITY;
  #waitingFor = "etcd";
  #trouble: string | undefined;
  #compaction = { revision: 0, atMs: Number.NEGATIVE_INFINITY };
  #known = "";

  constructor(options: SessionOptions, deps: SessionDeps) {
    this.#options = options;
    this.#deps = deps;
  }

  /** The last read state of the cluster; undefined: it was never read. */
  get view(): ClusterView | undefined {
    return this.#view;
  }

  /** Whether this conductor leads, as far as it can know. */
  get leadership(): Leadership | undefined {
    const { leader } = this.#view ?? {};
    if (leader === undefined || leader.leaseId !== this.#leaseId || !this.isLeaseAlive) return undefined;
    return { fence: leader.fence };
  }

  get isLeaseAlive(): boolean {
    return this.#leaseId !== undefined && this.#deps.monotonicMs() < this.#leaseEndsMs;
  }

  /** Why this member does not lead, or the last failure of etcd; undefined: none. */
  get trouble(): string | undefined {
    return this.#trouble;
  }

  get waitingFor(): string {
    return this.#waitingFor;
  }

  /** Takes part until it is closed. */
  async run(): Promise<void> {
    const { clock, monotonicMs, log } = this.#deps;
    const { signal } = this.#closing;
    while (!signal.aborted) {
      const startMs = monotonicMs();
      try {
        await this.#turn();
        if (this.#trouble !== undefined) log.info("etcd answers again");
        this.#trouble = undefined;
      } catch (error) {
        const text = errorText(error);
        if (this.#trouble === undefined) log.warn("the cluster cannot be seen", { error: text });
        else log.debug("the cluster cannot be seen", { error: text });
        this.#trouble = text;
      }
      this.#tellChange();
      await clock.sleep(Math.max(0, this.#options.pollIntervalMs - (monotonicMs() - startMs)), signal);
    }
  }

  /** Looks at the cluster now. @throws {EtcdError} */
  async look(): Promise<ClusterView> {
    const { etcd, keys, monotonicMs } = this.#deps;
    const askedMs = monotonicMs();
    const view = await readCluster(etcd, keys);
    if (askedMs < this.#viewAtMs && this.#view !== undefined) return this.#view; // a later question was answered sooner
    this.#viewAtMs = askedMs;
    this.#view = view;
    if (view.leader !== undefined) this.#leaderlessSinceMs = undefined;
    else this.#leaderlessSinceMs ??= askedMs;
    return view;
  }

  /**
   * Resigns from leadership. @param to the only member that may follow at first; undefined: any other
   * @returns false if it was no longer leader
   * @throws {EtcdError} it may still lead
   */
  async resign(to?: string): Promise<boolean> {
    const { etcd, keys, monotonicMs } = this.#deps;
    const { leadership } = this;
    if (leadership === undefined) return false;
    this.#holdOffUntilMs = monotonicMs() + TRANSFER_TTL_SEC * 1000;
    const { leaseId } = await etcd.leaseGrant(TRANSFER_TTL_SEC);
    const transfer = recordToBytes({ from: this.#options.id, ...(to === undefined ? {} : { to }) });
    const { succeeded } = await etcd.txn(
      [{ key: keys.leader, target: "create", revision: leadership.fence }],
      [
        { kind: "delete", key: keys.leader },
        { kind: "put", key: keys.transfer, value: transfer, leaseId },
      ],
    );
    await this.look().catch(() => {}); // the next turn looks again
    this.#tellChange();
    return succeeded;
  }

  /**
   * Changes who may lead. @param version of the roster that the change is for; 0: whichever it is
   * @throws {ConductorError} conductor/refused; {EtcdError}
   */
  async changeRoster(version: number, change: (roster: RosterRecord) => RosterRecord): Promise<void> {
    const { etcd, keys } = this.#deps;
    for (;;) {
      const { roster } = await this.look();
      if (version !== 0 && version !== roster.version) {
        const reason = `configuration changed since ${version} (latest is ${roster.version})`;
        throw new ConductorError("conductor/refused", { reason });
      }
      const { nonvoters, removed } = change(roster);
      const { succeeded } = await etcd.txn(
        [{ key: keys.roster, target: "mod", revision: roster.version }],
        [{ kind: "put", key: keys.roster, value: recordToBytes({ nonvoters, removed }) }],
      );
      if (succeeded) return;
    }
  }

  /** Resigns from leadership and membership, so that others need not wait for the lease to expire. */
  async close(): Promise<void> {
    this.#closing.abort();
    try {
      if (this.leadership !== undefined) await this.resign();
      if (this.#leaseId !== undefined) await this.#deps.etcd.leaseRevoke(this.#leaseId);
    } catch (error) {
      this.#deps.log.warn("etcd was not told of the end: the lease runs out by itself", { error: errorText(error) });
    }
    this.#leaseId = undefined;
  }

  async #turn(): Promise<void> {
    await this.#keepLease();
    const view = await this.look();
    await this.#writeEntry(view);
    if (view.leader === undefined) await this.#campaign(view);
    else this.#waitingFor = "";
    if (this.leadership !== undefined) await this.#compact(view);
  }

  async #keepLease(): Promise<void> {
    const { etcd, monotonicMs } = this.#deps;
    const { leaseTtlSec } = this.#options;
    this.#dropLostLease();
    const askedMs = monotonicMs();
    if (this.#leaseId !== undefined) {
      if (askedMs < this.#renewAtMs) return;
      const ttlSec = await etcd.leaseKeepAlive(this.#leaseId);
      // etcd counts from when it hears of it, which is later than when it was asked.
      this.#leaseEndsMs = askedMs + ttlSec * 1000;
      this.#renewAtMs = askedMs + (ttlSec * 1000) / 4;
      if (ttlSec > 0) return;
      this.#deps.log.warn("the lease has run out");
      this.#leaseId = undefined;
    }
    const { leaseId, ttlSec } = await etcd.leaseGrant(leaseTtlSec);
    this.#leaseId = leaseId;
    this.#leaseEndsMs = askedMs + ttlSec * 1000;
    this.#renewAtMs = askedMs + (ttlSec * 1000) / 4;
    this.#written = "";
  }

  /**
   * Where etcd hears this conductor but its answers are lost, renewals would keep a lease, and with it the leader key, that this conductor no
   * longer counts on. So a lease that has run out here is revoked; if that request is lost as well, the lease ends by itself.
   */
  #dropLostLease(): void {
    const leaseId = this.#leaseId;
    if (leaseId === undefined || this.isLeaseAlive) return;
    this.#deps.log.warn("the lease has run out: etcd's answers to its renewals were late or lost");
    this.#leaseId = undefined;
    void this.#deps.etcd.leaseRevoke(leaseId).catch(() => {}); // it ends by itself
  }

  /** @throws {ConductorError} conductor/id-taken */
  async #writeEntry(view: ClusterView): Promise<void> {
    const { etcd, keys, self } = this.#deps;
    const { id } = this.#options;
    const taken = view.members.find((member) => member.id === id && member.leaseId !== this.#leaseId);
    // Perhaps of this conductor's last run, whose lease has not run out yet.
    if (taken !== undefined) throw new ConductorError("conductor/id-taken", { id, addr: taken.addr });
    const record = self();
    const text = JSON.stringify(record);
    if (text === this.#written && view.members.some((member) => member.id === id)) return;
    await etcd.txn([], [{ kind: "put", key: keys.member(id), value: recordToBytes(record), leaseId: this.#leaseId }]);
    this.#written = text;
  }

  async #campaign(view: ClusterView): Promise<void> {
    const { etcd, keys, monotonicMs, candidate, log } = this.#deps;
    const { id } = this.#options;
    const nowMs = monotonicMs();
    const isChosen = view.transfer?.to === id;
    if (nowMs < this.#holdOffUntilMs && !isChosen) {
      this.#waitingFor = "another server to lead, after a transfer";
      return;
    }
    const leaderlessMs = nowMs - (this.#leaderlessSinceMs ?? nowMs);
    const ttlMs = this.#options.leaseTtlSec * 1000;
    if (nowMs - this.#viewAtMs > ttlMs / SLOW_LINK_PART && leaderlessMs < 2 * ttlMs) {
      this.#waitingFor = "a server that etcd answers faster to lead";
      return;
    }
    const verdict = checkCampaign({ id, ...candidate() }, view, leaderlessMs);
    if (verdict.kind === "wait") {
      this.#waitingFor = verdict.reason;
      return;
    }
    const put: Operation = { kind: "put", key: keys.leader, value: recordToBytes({ id }), leaseId: this.#leaseId };
    try {
      await etcd.txn([{ key: keys.leader, target: "create", revision: 0 }], [put]);
    } catch (error) {
      // "requested lease not found": the next turn gets another lease.
      if (!(error instanceof EtcdError && error.code === "etcd/refused")) throw error;
      log.debug("the lease has run out before an election", { error: errorText(error) });
      this.#renewAtMs = 0;
      return;
    }
    // The request may have failed after etcd carried it out, so the state is read from etcd.
    await this.look();
  }

  /** Each commit leaves the former payload among the past revisions: without compaction etcd would fill up. */
  async #compact({ revision }: ClusterView): Promise<void> {
    const { etcd, monotonicMs, log } = this.#deps;
    const { compactionIntervalMs } = this.#options;
    const nowMs = monotonicMs();
    if (compactionIntervalMs === 0 || nowMs < this.#compaction.atMs + compactionIntervalMs) return;
    const { revision: upTo } = this.#compaction;
    this.#compaction = { revision, atMs: nowMs };
    if (upTo === 0) return;
    try {
      await etcd.compact(upTo);
      log.debug("etcd compacted", { revision: upTo });
    } catch (error) {
      log.warn("etcd was not compacted", { error: errorText(error) });
    }
  }

  #tellChange(): void {
    const { leader, head, members, roster } = this.#view ?? {};
    const known = JSON.stringify([this.leadership?.fence, leader?.id, head?.hash, members, roster?.version]);
    if (known === this.#known) return;
    this.#known = known;
    this.#deps.onChange();
  }
}
