import type { L1BlockHeader } from "@rnode/derivation";
import type { Logger } from "@rnode/observe";
import type { Clock, Hex } from "@rnode/primitives";
import { type BlockId, type L2BlockRef, type PayloadAttributes, type RollupConfig, userTransactionsAt } from "@rnode/protocol";
import { IDLE, PROGRESS, type Progress, type Trouble, temporary } from "../common/progress.ts";
import type { SequencingTime } from "../common/sequencing-time.ts";
import { failureText, within } from "../common/within.ts";
import type { BuildJob, EngineControl, SealedPayload } from "../engine/engine-control.ts";
import type { BlockOutlet } from "./block-outlet.ts";
import type { L1OriginSelector, OriginChoice } from "./l1-origin-selector.ts";
import type { Leadership } from "./leadership.ts";

export interface SequencerOptions {
  /** how many blocks the unsafe head may be ahead of the safe head; 0: no limit */
  readonly maxSafeLag: number;
  /** advance L1 origins as fast as allowed, and build without the transaction pool */
  readonly recover: boolean;
  /** time reserved for getPayload, publishing and insertion before the block is due; 0 or less: 50 ms */
  readonly sealingDurationMs: number;
}

/** Attributes for a parent and an L1 origin. The caller decides whether to use the transaction pool. */
export type PrepareAttributes = (
  parent: L2BlockRef,
  origin: L1BlockHeader,
) => Promise<{ readonly kind: "attributes"; readonly attributes: PayloadAttributes } | Trouble>;

export interface SequencerDeps {
  readonly config: RollupConfig;
  readonly control: EngineControl;
  readonly origins: Pick<L1OriginSelector, "select" | "prefetch">;
  readonly prepareAttributes: PrepareAttributes;
  readonly outlet: Pick<BlockOutlet, "fenceSignal" | "fence" | "hasBeenPublished" | "mayBeCommitted" | "commit">;
  readonly leadership: Pick<Leadership, "isLeader">;
  readonly clock: Clock;
  /** by which blocks are due, in milliseconds since the Unix epoch */
  readonly time: Pick<SequencingTime, "nowMs">;
  readonly log: Logger;
  readonly metrics?: SequencerMetrics | undefined;
}

interface SequencerMetrics {
  /** a block could not be built, sealed or let out */
  error(): void;
  /** @param buildingSec from the start of building to the block in our own engine */
  sealed(sealingSec: number, buildingSec: number, blockTimeSec: number): void;
  /** @param transactions of the block */
  sequenced(transactions: number): void;
}

export type SequencerRefusal =
  | { readonly kind: "already-running" | "not-running" }
  /** the head is not known yet, so that it cannot be compared */
  | { readonly kind: "no-head" }
  | { readonly kind: "wrong-head"; readonly head: BlockId };

const DEFAULT_SEALING_MS = 50;
const TEMPORARY_RETRY_MS = 1_000;
/** The same trouble is not said again before. */
const REPEAT_TROUBLE_MS = 10_000;
const PREPARATION_LIMIT_MS = 20_000;
const END_OF_BUILD_LIMIT_MS = 1_000;

/**
 * Makes blocks. It starts building a block as soon as its parent's time has come, and seals the block shortly before its own time.
 * Each turn does one step; between turns, the driver does other things. Spec: docs/protocol/05-services.md#sequencing
 */
export class Sequencer {
  private readonly options: SequencerOptions;
  private readonly deps: SequencerDeps;
  private active = false;
  private isRecovering: boolean;
  /** monotonic: the end of a pause */
  private pausedUntilMs = 0;
  /** time of day: what a block's timestamp asks for */
  private dueUnixMs = 0;
  /** the unsafe head for which `dueUnixMs` was computed */
  private scheduledOn: Hex | undefined;
  private job: BuildJob | undefined;
  /** sealed, but not yet in the engine */
  private sealed: SealedPayload | undefined;
  private saidLagging = false;
  private saidTooLate = false;
  /** what delays sequencing at the moment */
  private trouble: { readonly text: string; readonly sinceMs: number; readonly saidMs: number } | undefined;
  private startedAtMs = 0;
  private sealingAtMs = 0;

  constructor(options: SequencerOptions, deps: SequencerDeps) {
    this.options = options;
    this.deps = deps;
    this.isRecovering = options.recover;
  }

  get isActive(): boolean {
    return this.active;
  }

  /** @param expectedHead refuse if the unsafe head is a different block */
  checkStart(expectedHead: Hex | undefined): SequencerRefusal | undefined {
    if (this.active) return { kind: "already-running" };
    if (expectedHead === undefined) return undefined;
    const head = this.deps.control.headsIfKnown?.unsafe;
    if (head === undefined) return { kind: "no-head" };
    return expectedHead === head.hash ? undefined : { kind: "wrong-head", head: { hash: head.hash, number: head.number } };
  }

  start(): void {
    this.active = true;
    this.scheduledOn = undefined;
    this.pausedUntilMs = 0;
    this.dueUnixMs = 0;
    this.deps.log.info("sequencing started", { head: this.deps.control.headsIfKnown?.unsafe.number });
  }

  /** Gives up what is in progress, between two turns or in the middle of one, unless the block has already been released. */
  fence(): void {
    this.deps.outlet.fence();
  }

  /** A block that has already been released is inserted first; any other is given up. */
  async stop(): Promise<void> {
    this.fence();
    if (this.sealed !== undefined && this.deps.outlet.hasBeenPublished(this.sealed.ref.hash)) await this.commit(this.sealed);
    this.active = false;
    await this.endBuild();
    this.sealed = undefined;
    this.trouble = undefined;
    this.deps.log.info("sequencing stopped", { head: this.deps.control.headsIfKnown?.unsafe.number });
  }

  /**
   * Ends the engine's open build, so that it publishes no more parts of a block that this node does not seal. A second build on the same
   * parent, without the pool, replaces the first. Spec: docs/protocol/07-flashblocks.md#order
   */
  private async endBuild(): Promise<void> {
    const { clock, control } = this.deps;
    const { job } = this;
    this.job = undefined;
    if (job === undefined || control.headsIfKnown?.unsafe.hash !== job.parent.hash) return;
    const answer = await within({ clock, limitMs: END_OF_BUILD_LIMIT_MS }, () =>
      control.startBuild(job.parent, { ...job.attributes, noTxPool: true }),
    );
    if (answer.kind !== "done") this.sayOpenBuild(job, failureText(answer, END_OF_BUILD_LIMIT_MS));
    else if (answer.value.kind !== "started") this.sayOpenBuild(job, answer.value.reason);
  }

  private sayOpenBuild({ parent }: BuildJob, reason: string): void {
    this.deps.log.warn(
      "the engine's open build could not be ended: it may publish parts until one block time after the block was due",
      {
        number: parent.number + 1,
        reason,
      },
    );
  }

  setRecoverMode(isRecovering: boolean): void {
    this.isRecovering = isRecovering;
  }

  /** The heads were determined again. The sequencer pauses for one block time, so that derivation comes first. */
  onReset(): void {
    this.fence();
    const { unsafe } = this.deps.control.heads;
    this.job = undefined;
    // Other nodes, or a conductor, may have the block, so it is kept as long as it still builds on the unsafe head.
    const mustStay = this.sealed?.ref.parentHash === unsafe.hash && this.deps.outlet.mayBeCommitted(this.sealed.ref.hash);
    if (!mustStay) this.sealed = undefined;
    this.scheduledOn = unsafe.hash;
    this.dueUnixMs = 0;
    this.retryIn(this.deps.config.blockTimeSec * 1_000);
  }

  /** Milliseconds until there is something to do; undefined: nothing until something else changes. */
  dueInMs(): number | undefined {
    if (!this.active || this.isHeldBack()) return undefined;
    if (this.scheduledOn !== this.deps.control.heads.unsafe.hash) return 0;
    return this.waitMs();
  }

  async turn(): Promise<Progress> {
    if (!this.active) return IDLE;
    this.followHead();
    if (this.isHeldBack() || this.waitMs() > 0) return IDLE;
    if (this.sealed !== undefined) return this.commit(this.sealed);
    return this.job === undefined ? this.begin() : this.seal(this.job);
  }

  /** If another block has become the head, gives up what was being built on the previous one. */
  private followHead(): void {
    const { unsafe } = this.deps.control.heads;
    if (this.scheduledOn === unsafe.hash) return;
    if (this.job !== undefined || this.sealed !== undefined) {
      this.deps.log.warn("the unsafe head changed, giving up the block being built", { head: unsafe.number });
      this.job = undefined;
      this.sealed = undefined;
    }
    this.scheduleAfter(unsafe);
  }

  /** Schedules building on `head` for the head's own time, or at once if that has passed. */
  private scheduleAfter(head: L2BlockRef): void {
    this.scheduledOn = head.hash;
    this.pausedUntilMs = 0;
    this.dueUnixMs = head.timestamp * 1_000;
  }

  /** At most a block time, because the time of day may be set meanwhile. */
  private waitMs(): number {
    const { clock, config, time } = this.deps;
    const dueMs = Math.min(this.dueUnixMs - time.nowMs(), config.blockTimeSec * 1_000);
    return Math.max(0, this.pausedUntilMs - clock.monotonicMs(), dueMs);
  }

  private isHeldBack(): boolean {
    const { maxSafeLag } = this.options;
    if (maxSafeLag === 0 || this.job !== undefined || this.sealed !== undefined) return false;
    const { unsafe, safe } = this.deps.control.heads;
    const isLagging = unsafe.number - safe.number >= maxSafeLag;
    if (isLagging !== this.saidLagging) {
      this.saidLagging = isLagging;
      const fields = { unsafe: unsafe.number, safe: safe.number, maxSafeLag };
      if (isLagging) this.deps.log.warn("the safe head lags too far behind, not building until it advances", fields);
      else this.deps.log.info("the safe head has caught up, building again", fields);
    }
    return isLagging;
  }

  private async begin(): Promise<Progress> {
    const { control, config, log, origins } = this.deps;
    const parent = control.heads.unsafe;
    const notLeading = await this.whyNotLeading(parent);
    if (notLeading !== undefined) return this.onTrouble("asking who leads", notLeading);
    const choice = await origins.select(parent);
    if (choice.kind === "wait") {
      log.info("waiting for L1", { reason: choice.reason });
      return this.retryIn(config.blockTimeSec * 1_000);
    }
    if (choice.kind !== "origin") return this.onTrouble("choosing the L1 origin", choice);
    const prepared = await this.prepare(parent, choice.origin);
    if (prepared.kind !== "attributes") return this.onTrouble("preparing attributes", prepared);
    const attributes = { ...prepared.attributes, noTxPool: this.isWithoutPool(prepared.attributes.timestamp, choice) };
    this.sayTooLate(choice.isTooLate, parent);
    const started = await control.startBuild(parent, attributes);
    if (started.kind === "invalid") {
      log.error("the engine refuses the attributes of a new block", { number: parent.number + 1, reason: started.reason });
      this.deps.metrics?.error();
      return this.retryIn(config.blockTimeSec * 1_000);
    }
    if (started.kind !== "started") return this.onTrouble("starting to build", started);
    this.job = started.job;
    this.startedAtMs = this.deps.clock.monotonicMs();
    const { sealingDurationMs } = this.options;
    this.dueUnixMs = attributes.timestamp * 1_000 - (sealingDurationMs > 0 ? sealingDurationMs : DEFAULT_SEALING_MS);
    log.debug("building", { number: parent.number + 1, l1Origin: choice.origin.number, noTxPool: attributes.noTxPool });
    origins.prefetch(choice.origin);
    return PROGRESS;
  }

  /**
   * A late sequencer may have been paused while another one took over. The engine would publish parts of its block before leadership
   * refuses the block, so leadership is asked first.
   */
  private async whyNotLeading(parent: L2BlockRef): Promise<Trouble | undefined> {
    const { clock, config, leadership, outlet, time } = this.deps;
    const blockTimeMs = config.blockTimeSec * 1_000;
    if (time.nowMs() - parent.timestamp * 1_000 <= blockTimeMs) return undefined;
    const limits = { clock, limitMs: PREPARATION_LIMIT_MS, stop: outlet.fenceSignal() };
    const answer = await within(limits, () => leadership.isLeader());
    if (answer.kind !== "done") return temporary(failureText(answer, PREPARATION_LIMIT_MS));
    return answer.value ? undefined : temporary("another sequencer leads", blockTimeMs);
  }

  private async prepare(parent: L2BlockRef, origin: L1BlockHeader): ReturnType<PrepareAttributes> {
    const { clock, prepareAttributes } = this.deps;
    const prepared = await within({ clock, limitMs: PREPARATION_LIMIT_MS }, () => prepareAttributes(parent, origin));
    if (prepared.kind === "failed") throw prepared.error;
    return prepared.kind === "done" ? prepared.value : temporary(`no answer within ${PREPARATION_LIMIT_MS / 1_000} s`);
  }

  /**
   * A block whose batch would come too late is made as derivation will make it, without users' transactions: it stays, and so do the blocks
   * upon it, so that the sequencer leaves the end of the sequencing window behind. With transactions it would be replaced each time.
   */
  private isWithoutPool(timestampSec: number, { isPastDrift, isTooLate }: Extract<OriginChoice, { kind: "origin" }>): boolean {
    const { forkTimes, blockTimeSec } = this.deps.config;
    const leavesEmpty = userTransactionsAt(forkTimes, timestampSec, timestampSec - blockTimeSec) !== "allowed";
    return isPastDrift || isTooLate || leavesEmpty || this.isRecovering;
  }

  private sayTooLate(isTooLate: boolean, { number, l1Origin }: L2BlockRef): void {
    if (isTooLate === this.saidTooLate) return;
    this.saidTooLate = isTooLate;
    const fields = { unsafe: number, l1Origin: l1Origin.number, seqWindowSize: this.deps.config.seqWindowSize };
    if (isTooLate) {
      this.deps.log.warn(
        "the sequencing window of the next blocks is nearly over or ended: they are built without transactions, as they could not be published in time",
        fields,
      );
    } else this.deps.log.info("blocks can be published in time again, building with transactions", fields);
  }

  private async seal(job: BuildJob): Promise<Progress> {
    const { control, outlet, log, config } = this.deps;
    const number = job.parent.number + 1;
    const fenced = outlet.fenceSignal();
    this.sealingAtMs = this.deps.clock.monotonicMs();
    const sealed = await control.seal(job);
    this.job = undefined;
    if (sealed.kind !== "sealed") {
      log.error("could not seal the block being built", { number, reason: sealed.reason });
      this.deps.metrics?.error();
      return this.retryIn(config.blockTimeSec * 1_000);
    }
    this.sealed = { envelope: sealed.envelope, ref: sealed.ref };
    return this.commit(this.sealed, fenced);
  }

  private async commit({ envelope, ref }: SealedPayload, fenced: AbortSignal = this.deps.outlet.fenceSignal()): Promise<Progress> {
    const { control, outlet, log, config } = this.deps;
    const fields = { number: ref.number, hash: ref.hash };
    const outcome = await outlet.commit(envelope, fenced);
    switch (outcome.kind) {
      case "committed":
        break;
      case "fenced": // a stop gives it up, a reset too, unless it may have been committed
        if (!outlet.mayBeCommitted(ref.hash)) this.sealed = undefined;
        log.info("the new block is held back: sequencing was stopped or begins anew", fields);
        return PROGRESS;
      case "notLeader":
        this.sealed = undefined;
        log.warn("another sequencer leads: the new block is given up", fields);
        return this.retryIn(config.blockTimeSec * 1_000);
      case "refused":
        this.sealed = undefined;
        log.error("the block that was built is refused", { ...fields, reason: outcome.reason });
        this.deps.metrics?.error();
        return this.retryIn(config.blockTimeSec * 1_000);
      default:
        return this.onTrouble("letting out the new block", outcome);
    }
    this.sealed = undefined;
    this.sayGoingOn();
    this.measure(envelope.executionPayload.transactions.length);
    control.setHeads({ ...control.heads, unsafe: ref });
    this.scheduleAfter(ref);
    log.info("sequenced block", {
      number: ref.number,
      hash: ref.hash,
      transactions: envelope.executionPayload.transactions.length,
      l1Origin: ref.l1Origin.number,
    });
    return control.sendForkchoice();
  }

  /** Temporary trouble does not use the driver's growing pauses: the sequencer retries every second. */
  private onTrouble(what: string, trouble: Trouble): Progress {
    if (trouble.kind !== "temporary") return trouble;
    this.deps.metrics?.error();
    this.sayTrouble(what, trouble.reason);
    return this.retryIn(trouble.retryAfterMs ?? TEMPORARY_RETRY_MS);
  }

  private sayTrouble(what: string, reason: string): void {
    const { clock, log } = this.deps;
    const text = `${what}: ${reason}`;
    const nowMs = clock.monotonicMs();
    const { trouble } = this;
    if (trouble?.text === text && nowMs - trouble.saidMs < REPEAT_TROUBLE_MS) return;
    const sinceMs = trouble?.sinceMs ?? nowMs;
    this.trouble = { text, sinceMs, saidMs: nowMs };
    const forSec = Math.round((nowMs - sinceMs) / 1_000);
    log.warn("sequencing is delayed", { what, reason, ...(forSec > 0 && { forSec }) });
  }

  private sayGoingOn(): void {
    if (this.trouble === undefined) return;
    const afterSec = Math.round((this.deps.clock.monotonicMs() - this.trouble.sinceMs) / 1_000);
    this.trouble = undefined;
    this.deps.log.info("sequencing goes on", { afterSec });
  }

  private measure(transactions: number): void {
    const { clock, config, metrics } = this.deps;
    const nowMs = clock.monotonicMs();
    metrics?.sealed((nowMs - this.sealingAtMs) / 1_000, (nowMs - this.startedAtMs) / 1_000, config.blockTimeSec);
    metrics?.sequenced(transactions);
  }

  private retryIn(ms: number): Progress {
    this.pausedUntilMs = this.deps.clock.monotonicMs() + ms;
    return PROGRESS;
  }
}
