import type { Logger } from "@rnode/observe";
import { type Clock, type Hex, isCodedError } from "@rnode/primitives";
import { type BlockId, type L1BlockRef, type L2BlockRef, type RollupConfig, rollupRulesAt } from "@rnode/protocol";
import type { Heads } from "../common/heads.ts";
import { IDLE, PROGRESS, type Progress, reset, temporary } from "../common/progress.ts";
import type { EngineControl } from "../engine/engine-control.ts";
import type { Sequencer } from "../sequencing/sequencer.ts";
import type { Start, Verification } from "../verification.ts";
import type { CanonicalL1 } from "./canonical-l1.ts";
import type { FollowSource, SourceReport, SourceResult } from "./follow-source.ts";
import { SourceHealth } from "./source-health.ts";
import { SourceReader } from "./source-reader.ts";

interface FollowerMetrics {
  request(result: SourceResult): void;
  /** the unsafe chain was left for the source's */
  reorg(action: "force_reset" | "soft_update"): void;
}

export interface FollowerDeps {
  readonly config: RollupConfig;
  readonly source: FollowSource;
  readonly control: EngineControl;
  /** blocks of the engine's chain */
  readonly l2: {
    blockRefByNumber(number: number): Promise<L2BlockRef | undefined>;
    blockRefByHash(hash: Hex): Promise<L2BlockRef | undefined>;
  };
  readonly l1: Pick<CanonicalL1, "check" | "onHead">;
  /** newest block that our own L1 calls final; `undefined`: not known */
  readonly l1Finalized: () => L1BlockRef | undefined;
  /** for the sequencer: reads a new L1 head before it is needed */
  readonly readAhead: (l1Head: L1BlockRef) => Promise<void>;
  readonly sequencer: Pick<Sequencer, "isActive" | "onReset">;
  /** is told how far the source has read L1 */
  readonly onCurrentL1: (block: L1BlockRef) => void;
  /** A block became local safe; the source had read L1 up to `derivedFrom`. */
  readonly onLocalSafe: (block: L2BlockRef, derivedFrom: L1BlockRef) => void;
  /** our heads go on from `base` */
  readonly onBase: (base: L2BlockRef) => void;
  readonly wake: () => void;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: FollowerMetrics;
}

/** The source's block that the engine lacks, and syncs to. */
interface Target {
  report: SourceReport;
  readonly isOtherBranch: boolean;
  readonly sinceMs: number;
  retryAtMs: number;
  isLateSaid: boolean;
}

/** As upstream. Spec: docs/protocol/05-services.md#light-mode */
const BLOCK_TIMES_A_POLL = 2;
/** How often the engine is asked for a block that it syncs to: some blocks take it a moment, and the source's next report names a newer one. */
const RETRY_MS = 1_000;
/** So long no block is made or inserted while the engine fetches the source's block of another branch from its peers. */
const HOLD_MS = 60_000;

/**
 * Light mode (`--l2.follow.source`): another node derives, and this node takes its safe and final blocks from it, as far as the own L1 and the own
 * engine confirm them. Labels only go forward, except that L1 or the source takes blocks back that are not final. Spec:
 * docs/protocol/05-services.md#light-mode
 */
export class Follower implements Verification {
  readonly parts = [{ name: "following the source", turn: () => this.turn(), dueInMs: () => this.dueInMs() }];
  private readonly deps: FollowerDeps;
  private readonly reader: SourceReader;
  private readonly health: SourceHealth;
  private pollAtMs = 0;
  /** how far the source had read L1 when its heads were last taken over */
  private followedL1: L1BlockRef | undefined;
  /** the last local safe block that `onLocalSafe` was called with */
  private recorded: Hex | undefined;
  private missing: Target | undefined;

  constructor(deps: FollowerDeps) {
    this.deps = deps;
    const { config, source, l1, clock, log, wake, metrics } = deps;
    this.reader = new SourceReader({ config, source, l1, clock, log, wake });
    this.health = new SourceHealth({ name: source.name, clock, log, metrics });
  }

  get holdsBack(): boolean {
    const { missing: target } = this;
    if (target === undefined || !(target.isOtherBranch || this.deps.sequencer.isActive)) return false;
    return this.deps.clock.monotonicMs() - target.sinceMs < HOLD_MS;
  }

  get faults(): readonly string[] {
    return this.health.faults;
  }

  get status() {
    return this.health.status;
  }

  get stalledSec(): number {
    return this.health.stalledSec;
  }

  get localSafe(): L2BlockRef | undefined {
    return this.deps.control.toldHeads?.pendingSafe;
  }

  get target(): L2BlockRef | undefined {
    return this.missing?.report.localSafe;
  }

  onL1Head(block: L1BlockRef): void {
    this.health.onL1Head();
    void this.deps.readAhead(block);
    if (!this.deps.l1.onHead(block)) return;
    this.reader.doubtL1();
    this.pollAtMs = 0;
  }

  /** The source's finalized block is looked at again at the next poll. */
  onL1Finalized(): void {}

  async reset({ base }: Start): Promise<undefined> {
    this.reader.clear();
    this.followedL1 = undefined;
    this.recorded = undefined;
    this.missing = undefined;
    this.pollAtMs = 0;
    this.deps.onBase(base);
  }

  private dueInMs(): number | undefined {
    const dueAtMs = [
      ...(this.reader.isBusy ? [] : [this.pollAtMs]),
      ...(this.missing === undefined ? [] : [this.missing.retryAtMs]),
    ];
    return dueAtMs.length === 0 ? undefined : Math.max(0, Math.min(...dueAtMs) - this.deps.clock.monotonicMs());
  }

  private async turn(): Promise<Progress> {
    const nowMs = this.deps.clock.monotonicMs();
    if (this.missing !== undefined && nowMs >= this.missing.retryAtMs) {
      const reached = await this.withEngine(() => this.reachTarget());
      if (reached.kind !== "idle") return reached;
    }
    const reading = this.reader.take();
    if (reading === undefined) {
      if (!this.reader.isBusy && nowMs >= this.pollAtMs) this.poll();
      return IDLE;
    }
    switch (reading.kind) {
      case "l1-reorg":
        return reset(`L1 was reorganised: ${reading.reason}`);
      case "trouble":
        this.health.troubled(reading);
        return IDLE;
      case "report":
        return this.withEngine(() => this.take(reading.report));
    }
  }

  private poll(): void {
    const { control, clock, config } = this.deps;
    this.pollAtMs = clock.monotonicMs() + BLOCK_TIMES_A_POLL * 1_000 * config.blockTimeSec;
    this.reader.start([control.heads.unsafe.l1Origin, ...(this.followedL1 === undefined ? [] : [this.followedL1])]);
  }

  private async withEngine(action: () => Promise<Progress>): Promise<Progress> {
    try {
      return await action();
    } catch (error) {
      if (!isCodedError(error, "engine/")) throw error;
      return temporary(`following the source: ${error.message}`);
    }
  }

  /** Takes over what the source says, as far as the engine has it. */
  private async take(report: SourceReport): Promise<Progress> {
    const { control, l2 } = this.deps;
    const { localSafe } = report;
    const { unsafe, pendingSafe } = control.heads;
    if (localSafe.number > unsafe.number) return this.moveTo(report, false);
    const ours = [pendingSafe, unsafe].find(({ hash }) => hash === localSafe.hash) ?? (await l2.blockRefByNumber(localSafe.number));
    if (ours === undefined) return this.wait(`the engine does not have block ${localSafe.number} below its head yet`);
    return ours.hash === localSafe.hash ? this.raise(report, ours) : this.moveTo(report, true);
  }

  /** Whether the engine has the block by now that it syncs to. */
  private async reachTarget(): Promise<Progress> {
    const { control, clock, l2 } = this.deps;
    const { report, isOtherBranch } = this.missing!;
    this.missing!.retryAtMs = clock.monotonicMs() + RETRY_MS;
    if ((await l2.blockRefByHash(report.localSafe.hash)) === undefined) return IDLE;
    const named = await control.nameHead(report.localSafe);
    if (named.kind === "inserted") return this.adopt(report, isOtherBranch);
    return named.kind === "temporary" ? named : IDLE; // the next report finds out
  }

  /** The source's local safe block is in our chain: labels move forward to its heads. */
  private async raise(report: SourceReport, localSafe: L2BlockRef): Promise<Progress> {
    const { control, config, onCurrentL1, onLocalSafe, log } = this.deps;
    this.missing = undefined;
    const { heads } = control;
    if (!isSame(localSafe, report.localSafe)) return this.refuse(describesWrongly(localSafe));
    const safe = await this.labelFrom(report.safe, heads.safe);
    if (typeof safe === "string") return this.refuse(safe);
    const finalized = await this.labelFrom(this.finalBy(report), heads.finalized);
    if (typeof finalized === "string") return this.refuse(finalized);
    // Before messages of other chains have to be checked, what is derived is safe.
    const isSafe = !rollupRulesAt(config.forkTimes, localSafe.timestamp).hasExecutingMessages;
    const newSafe = higher(higher(heads.safe, safe), isSafe ? localSafe : safe);
    const moved: Heads = {
      ...heads,
      pendingSafe: higher(heads.pendingSafe, localSafe),
      safe: newSafe,
      finalized: higher(heads.finalized, finalized),
    };
    control.setHeads(moved);
    const told = await control.sendForkchoice();
    if (told.kind !== "progress") return told;
    onCurrentL1(report.currentL1);
    this.followedL1 = report.currentL1;
    if (moved.pendingSafe.hash === localSafe.hash && this.recorded !== localSafe.hash) {
      onLocalSafe(localSafe, report.currentL1);
      this.recorded = localSafe.hash;
    }
    if (newSafe.hash !== heads.safe.hash) {
      const { number, hash } = newSafe;
      log.info("safe head", { number, hash, blocks: number - heads.safe.number, l1Block: report.currentL1.number });
    }
    this.health.followed(report);
    return PROGRESS;
  }

  /** No block is final before our own L1 calls its L1 origin final. */
  private finalBy({ finalized }: SourceReport): L2BlockRef {
    const l1Finalized = this.deps.l1Finalized();
    const isFinal = l1Finalized !== undefined && finalized.l1Origin.number <= l1Finalized.number;
    return isFinal ? finalized : this.deps.control.heads.finalized;
  }

  /** @returns the engine's block that a label moves to; a text if the source contradicts our chain or itself */
  private async labelFrom(named: L2BlockRef, current: L2BlockRef): Promise<L2BlockRef | string> {
    const { finalized } = this.deps.control.heads;
    if (named.number === finalized.number && named.hash !== finalized.hash) return contradictsFinalized(named, finalized);
    if (named.number <= current.number) return current;
    const ours = await this.deps.l2.blockRefByNumber(named.number);
    if (ours !== undefined && isSame(ours, named)) return ours;
    return `its block ${named.number} ${named.hash} is not in the chain of its local safe block, which has ${ours?.hash ?? "none"} there`;
  }

  /**
   * Makes the source's local safe block the unsafe head. The engine syncs to it if it lacks it.
   *
   * @param isOtherBranch our chain has another block of that number
   */
  private async moveTo(report: SourceReport, isOtherBranch: boolean): Promise<Progress> {
    const { control, clock, log } = this.deps;
    const { localSafe } = report;
    const { finalized, unsafe } = control.heads;
    if (localSafe.number <= finalized.number) return this.refuse(contradictsFinalized(localSafe, finalized));
    const named = await control.nameHead(localSafe);
    const fields = { number: localSafe.number, hash: localSafe.hash, unsafe: unsafe.number };
    switch (named.kind) {
      case "temporary":
        return named;
      case "invalid":
        return this.refuse(`the engine refuses its block ${localSafe.number} ${localSafe.hash}: ${named.reason}`);
      case "inserted":
        return this.adopt(report, isOtherBranch);
      case "syncing":
        if (this.missing === undefined) log.info("the engine lacks the source's block, and syncs to it from its own peers", fields);
        this.aimAt(report, isOtherBranch);
        if (!this.missing!.isLateSaid && clock.monotonicMs() - this.missing!.sinceMs >= HOLD_MS) {
          this.missing!.isLateSaid = true;
          log.warn(
            "the engine does not get the source's block: look after its peers. This node goes on with its own unsafe chain",
            fields,
          );
        }
        return this.wait(`the engine syncs to block ${localSafe.number} from its own peers`);
    }
  }

  private aimAt(report: SourceReport, isOtherBranch: boolean): void {
    const nowMs = this.deps.clock.monotonicMs();
    const retryAtMs = nowMs + RETRY_MS;
    if (this.missing === undefined) this.missing = { report, isOtherBranch, sinceMs: nowMs, retryAtMs, isLateSaid: false };
    else Object.assign(this.missing, { report, retryAtMs });
  }

  /** The engine has made the source's block its head. */
  private async adopt(report: SourceReport, isOtherBranch: boolean): Promise<Progress> {
    const { control, l2, sequencer, log, metrics, onBase } = this.deps;
    const { unsafe, pendingSafe, safe, finalized } = control.heads;
    const tip = await l2.blockRefByHash(report.localSafe.hash);
    const atFinalized = await l2.blockRefByNumber(finalized.number);
    if (tip === undefined || !isSame(tip, report.localSafe)) return this.takeBack(describesWrongly(report.localSafe));
    if (atFinalized?.hash !== finalized.hash) {
      return this.takeBack(
        `its block ${tip.number} does not descend from our finalized block ${finalized.number} ${finalized.hash}`,
      );
    }
    const isInChain = async ({ number, hash }: L2BlockRef): Promise<boolean> =>
      number <= tip.number && (await l2.blockRefByNumber(number))?.hash === hash;
    const keptSafe = (await isInChain(safe)) ? safe : finalized;
    control.setHeads({ unsafe: tip, pendingSafe: keptSafe, safe: keptSafe, finalized, backupUnsafe: undefined });
    const fields = { number: tip.number, hash: tip.hash, was: unsafe.number, wasHash: unsafe.hash };
    if (isOtherBranch) {
      metrics.reorg(sequencer.isActive ? "force_reset" : "soft_update");
      log.warn("our chain differs from the source's: the unsafe head was replaced", fields);
    } else log.info("the unsafe head is the source's block", fields);
    if (keptSafe.hash !== safe.hash) {
      log.warn("the source takes back blocks that it called safe", { safe: safe.number, hash: safe.hash, now: tip.number });
    }
    if (keptSafe.hash !== safe.hash || !(await isInChain(pendingSafe))) onBase(keptSafe);
    // What is being built is given up.
    if (unsafe.hash !== tip.hash) sequencer.onReset();
    return this.raise(report, tip);
  }

  /** The engine has made a block its head that is not ours: the fork choice of our own heads follows. */
  private takeBack(reason: string): Progress {
    this.deps.control.forgetSentForkchoice();
    return this.refuse(reason);
  }

  private wait(reason: string): Progress {
    this.health.waiting(reason);
    return IDLE;
  }

  private refuse(reason: string): Progress {
    this.missing = undefined;
    this.health.troubled({ result: "error_invalid_state", reason });
    return IDLE;
  }
}

const higher = (current: L2BlockRef, candidate: L2BlockRef): L2BlockRef =>
  candidate.number > current.number ? candidate : current;

const describesWrongly = ({ number }: BlockId): string => `it describes block ${number} as another than it is`;

const contradictsFinalized = (named: BlockId, finalized: BlockId): string =>
  `its block ${named.number} ${named.hash} contradicts our finalized block ${finalized.number} ${finalized.hash}, which stays. Compare both nodes with L1: if the source is right, take this node back by "rnode resync"`;

/** Whether two descriptions of a block are the same in all fields. */
const isSame = (a: L2BlockRef, b: L2BlockRef): boolean =>
  a.hash === b.hash &&
  a.number === b.number &&
  a.parentHash === b.parentHash &&
  a.timestamp === b.timestamp &&
  a.sequenceNumber === b.sequenceNumber &&
  a.l1Origin.number === b.l1Origin.number &&
  a.l1Origin.hash === b.l1Origin.hash;
