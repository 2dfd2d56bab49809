import type { L2Blocks } from "@rnode/node-clients";
import type { Logger } from "@rnode/observe";
import { type Clock, type Hex, isCodedError } from "@rnode/primitives";
import type { L2BlockRef, RollupConfig } from "@rnode/protocol";
import type { Heads } from "../common/heads.ts";
import { IDLE, PROGRESS, type Progress, reset, temporary } from "../common/progress.ts";
import type { DriverEngine, EngineControl } from "../engine/engine-control.ts";
import type { EngineKind } from "../engine/engine-kind.ts";
import type { SafeHeadEntry } from "../safe/safe-head-database.ts";
import type { UnsafeInbox } from "./unsafe-inbox.ts";
import type { QueuedPayload } from "./unsafe-queue.ts";

/** Kinds of engine that are synced although they have a finalized block. Spec: docs/protocol/05-services.md#node-options */
const SYNCS_AFTER_FINALITY: ReadonlySet<EngineKind> = new Set(["reth", "erigon"]);
/** How often the engine is asked whether it is there, when no block brings it up. */
const POLL_MS = 5_000;
/** Limit for payloads that are passed on in one turn. */
const PAYLOADS_A_TURN = 32;
/** How long nothing may happen before it is warned about, and again. */
const WARNING_MS = 60_000;

export interface ExecutionLayerSyncDeps {
  readonly config: RollupConfig;
  readonly inbox: Pick<UnsafeInbox, "peek" | "remove">;
  readonly engine: Pick<DriverEngine, "newPayload" | "forkchoiceUpdated">;
  readonly l2: Pick<L2Blocks, "blockByLabel" | "blockRefByNumber">;
  readonly control: Pick<EngineControl, "setHeads">;
  /** the newest entry of the safe-head database; `undefined` without a database or an entry */
  readonly lastRecorded?: (() => SafeHeadEntry | undefined) | undefined;
  readonly clock: Clock;
  readonly log: Logger;
}

export interface ExecutionLayerSyncOptions {
  readonly kind: EngineKind;
  /** distance of the safe and finalized blocks from the synced tip */
  readonly offsetMs: number;
}

/** L2 blocks that cover a duration. */
export const blocksOf = (durationMs: number, { blockTimeSec }: Pick<RollupConfig, "blockTimeSec">): number =>
  Math.max(0, Math.ceil(durationMs / 1_000 / blockTimeSec));

/** Labels as the engine has them. */
type EngineHeads = Pick<Heads, "unsafe" | "safe" | "finalized">;

/**
 * `--syncmode=execution-layer`: the engine gets the chain from its own peers, up to the unsafe blocks that this node hears of. Meanwhile
 * nothing is derived, and no label of ours is sent to the engine. When it calls such a block valid, a block `offsetMs` before it becomes
 * safe and finalized once, and the node derives from there as usual. An engine that already has a finalized block is not synced, unless
 * it is of a kind that may be; that is decided once, at the first unsafe block. Spec: docs/protocol/02-derivation.md#unsafe-payload-queue
 */
export class ExecutionLayerSync {
  private readonly options: ExecutionLayerSyncOptions;
  private readonly deps: ExecutionLayerSyncDeps;
  private stage: "waiting" | "syncing" | "finished" = "waiting";
  /** the latest unsafe block that was sent to the engine and that it does not have */
  private latest: L2BlockRef | undefined;
  private engineHeads: EngineHeads | undefined;
  private startMs: number;
  private startNumber = 0;
  private askedMs: number | undefined;
  private movedMs: number;
  private warnedMs: number | undefined;

  constructor(options: ExecutionLayerSyncOptions, deps: ExecutionLayerSyncDeps) {
    this.options = options;
    this.deps = deps;
    this.startMs = this.movedMs = deps.clock.monotonicMs();
  }

  /** Whether nothing else may be done yet. */
  get isUnfinished(): boolean {
    return this.stage !== "finished";
  }

  /** The block that the engine is syncing to; undefined: it is not syncing. */
  get target(): L2BlockRef | undefined {
    return this.stage === "syncing" ? this.latest : undefined;
  }

  /** The engine's labels in its last answer; undefined: not queried yet, or ours are in effect. */
  get heads(): Heads | undefined {
    if (!this.isUnfinished || this.engineHeads === undefined) return undefined;
    const { safe } = this.engineHeads;
    return { ...this.engineHeads, pendingSafe: safe, backupUnsafe: undefined };
  }

  /** A text about the state of the sync; undefined: it has ended. */
  get description(): string | undefined {
    if (!this.isUnfinished) return undefined;
    const { target } = this;
    if (target === undefined) return "execution-layer sync: waiting for an unsafe block of another node";
    return `execution-layer sync: the engine is at block ${this.engineHeads?.unsafe.number ?? "?"}, on its way to ${target.number}`;
  }

  /** Milliseconds until the engine is to be asked again. */
  dueInMs(): number {
    return this.askedMs === undefined ? 0 : Math.max(0, this.askedMs + POLL_MS - this.deps.clock.monotonicMs());
  }

  /** @returns `reset` when this node may continue normally, from the heads of the engine */
  async turn(): Promise<Progress> {
    try {
      return await this.advance();
    } catch (error) {
      if (!isCodedError(error, "engine/")) throw error;
      return temporary(`execution-layer sync: ${error.message}`);
    }
  }

  private async advance(): Promise<Progress> {
    const isDue = this.dueInMs() === 0;
    const first = this.deps.inbox.peek();
    if (isDue) this.askedMs = this.deps.clock.monotonicMs();
    if (isDue || first !== undefined) this.note(await this.readHeads());
    if (this.stage === "waiting") {
      if (first === undefined) return IDLE;
      if (!this.begin()) return reset("the engine has a finalized block: there is no execution-layer sync");
    }
    const passed = await this.passOn();
    if (passed.kind !== "idle" || !isDue || this.latest === undefined) return passed;
    return this.name(this.latest);
  }

  /** Decides whether there is a sync at all. */
  private begin(): boolean {
    const { config, log, clock } = this.deps;
    const { finalized, unsafe } = this.engineHeads!;
    const isFinalized = finalized.hash !== config.genesis.l2.hash;
    if (isFinalized && !SYNCS_AFTER_FINALITY.has(this.options.kind)) {
      this.stage = "finished";
      log.info("no execution-layer sync: the engine already has a finalized block", {
        finalized: finalized.number,
        hint: "an engine that may sync nevertheless: --l2.enginekind=reth or erigon",
      });
      return false;
    }
    this.stage = "syncing";
    this.startMs = this.movedMs = clock.monotonicMs();
    this.startNumber = unsafe.number;
    log.info("execution-layer sync begins: the engine gets blocks from its own peers", { head: unsafe.number });
    return true;
  }

  /** Passes on the payloads that wait, the lowest first. */
  private async passOn(): Promise<Progress> {
    const { inbox, engine, log } = this.deps;
    let named: QueuedPayload | undefined;
    for (let count = 0; count < PAYLOADS_A_TURN; count++) {
      const payload = inbox.peek();
      if (payload === undefined) break;
      const { ref, envelope } = payload;
      if (ref.number <= Math.max(this.engineHeads!.unsafe.number, this.latest?.number ?? 0)) {
        inbox.remove(ref.hash); // only blocks above it are needed
        continue;
      }
      const outcome = await engine.newPayload(envelope);
      inbox.remove(ref.hash);
      if (outcome.kind === "invalid") {
        log.warn("the engine calls an unsafe block invalid, dropping it", {
          number: ref.number,
          hash: ref.hash,
          reason: outcome.reason,
        });
        continue;
      }
      this.latest = ref;
      named = payload;
      if (outcome.kind === "valid") break; // once it is the head, block numbers refer to its chain
    }
    return named === undefined ? IDLE : this.name(named.ref);
  }

  /** Names the head to sync to. */
  private async name(head: L2BlockRef): Promise<Progress> {
    const { engine, log } = this.deps;
    const { safe, finalized } = this.engineHeads!;
    const outcome = await engine.forkchoiceUpdated({ head: head.hash, safe: safe.hash, finalized: finalized.hash });
    switch (outcome.kind) {
      case "valid":
        return this.finish(head);
      case "syncing":
        return PROGRESS;
      case "invalid":
        this.latest = undefined;
        log.error("the engine calls the block that it was syncing to invalid: waiting for another", {
          number: head.number,
          hash: head.hash,
          reason: outcome.reason,
        });
        return PROGRESS;
      default:
        return temporary(`the engine refuses to sync to block ${head.number}: ${outcome.reason}`);
    }
  }

  /** The engine calls this block valid: it is the unsafe head, and nothing before the safe head is derived. */
  private async finish(head: L2BlockRef): Promise<Progress> {
    const { engine, control, clock, log } = this.deps;
    const { hash, number } = head;
    const labels = await this.labelsFor(head);
    if (labels === undefined) return temporary(`the engine called block ${number} valid, but lacks a block before it`);
    const { safe, finalized } = labels;
    const outcome = await engine.forkchoiceUpdated({ head: hash, safe: safe.hash, finalized: finalized.hash });
    if (outcome.kind === "syncing") return PROGRESS; // it will be asked again
    if (outcome.kind !== "valid") {
      return temporary(
        `the engine called block ${number} valid, but refuses it with block ${safe.number} as safe and block ${finalized.number} as ` +
          `finalized: ${outcome.reason}`,
      );
    }
    control.setHeads({ unsafe: head, pendingSafe: safe, safe, finalized, backupUnsafe: undefined });
    this.stage = "finished";
    this.latest = undefined;
    log.info("execution-layer sync is finished", {
      number,
      hash,
      safe: safe.number,
      finalized: finalized.number,
      blocks: number - this.startNumber,
      elapsedSec: Math.round((clock.monotonicMs() - this.startMs) / 1_000),
    });
    return reset("the execution-layer sync is finished");
  }

  /**
   * Safe and finalized below a synced tip: the newest recorded safe head, so that the record has no gap, else the block `offsetMs` before
   * the tip. The engine's own labels are not lowered, except that finalized is never above safe.
   *
   * @returns `undefined` if the engine lacks the block
   * @throws {EngineError}
   */
  private async labelsFor(tip: L2BlockRef): Promise<Pick<EngineHeads, "safe" | "finalized"> | undefined> {
    const { config, l2, lastRecorded } = this.deps;
    const { safe, finalized } = this.engineHeads!;
    const recorded = lastRecorded?.()?.safeHead;
    const inChain = recorded && recorded.number <= tip.number ? await l2.blockRefByNumber(recorded.number) : undefined;
    if (inChain !== undefined && inChain.hash === recorded?.hash) {
      return { safe: inChain, finalized: finalized.number < inChain.number ? finalized : inChain };
    }
    const number = Math.max(config.genesis.l2.number, tip.number - blocksOf(this.options.offsetMs, config));
    const behind = number < tip.number ? await l2.blockRefByNumber(number) : tip;
    if (behind === undefined) return undefined;
    const [newSafe, newFinalized] = [safe, finalized].map((label) => (label.number > behind.number ? label : behind));
    return { safe: newSafe!, finalized: newFinalized! };
  }

  /** @throws {EngineError} */
  private async readHeads(): Promise<EngineHeads> {
    const { l2, config } = this.deps;
    const ref = async (label: "latest" | "safe" | "finalized"): Promise<L2BlockRef | undefined> =>
      (await l2.blockByLabel(label))?.ref;
    const genesis = genesisRef(config);
    const finalized = (await ref("finalized")) ?? genesis;
    return { unsafe: (await ref("latest")) ?? genesis, safe: (await ref("safe")) ?? finalized, finalized };
  }

  /** Remembers the engine's labels, and warns when they stand still. */
  private note(heads: EngineHeads): void {
    const nowMs = this.deps.clock.monotonicMs();
    if (this.engineHeads?.unsafe.hash !== heads.unsafe.hash) this.movedMs = nowMs;
    this.engineHeads = heads;
    const stillMs = nowMs - this.movedMs;
    if (stillMs < WARNING_MS || (this.warnedMs !== undefined && nowMs - this.warnedMs < WARNING_MS)) return;
    this.warnedMs = nowMs;
    const forSec = Math.round(stillMs / 1_000);
    const { log } = this.deps;
    if (this.latest === undefined) {
      log.warn(
        "execution-layer sync waits for an unsafe block: no peer has sent one. Look after --p2p.static and --p2p.bootnodes, or start with --syncmode=consensus-layer",
        { forSec },
      );
    } else {
      log.warn(
        "the engine's head does not move. Some engines show nothing before they are done; others have no peers: see the execution client's log",
        { head: heads.unsafe.number, target: this.latest.number, forSec },
      );
    }
  }
}

function genesisRef({ genesis: { l2, l1, l2TimeSec } }: RollupConfig): L2BlockRef {
  const zero: Hex = `0x${"00".repeat(32)}`;
  return { ...l2, parentHash: zero, timestamp: l2TimeSec, l1Origin: l1, sequenceNumber: 0 };
}
