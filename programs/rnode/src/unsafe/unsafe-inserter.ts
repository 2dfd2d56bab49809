import type { L2Blocks } from "@rnode/node-clients";
import type { LogFields, Logger } from "@rnode/observe";
import { type Clock, type Hex, isCodedError } from "@rnode/primitives";
import type { ExecutionPayload } from "@rnode/protocol";
import { IDLE, PROGRESS, type Progress, temporary } from "../common/progress.ts";
import type { EngineControl } from "../engine/engine-control.ts";
import type { Sequencer } from "../sequencing/sequencer.ts";
import type { RefusalCause, RefusedBlocks } from "./refused-blocks.ts";
import type { TimedOutPayloads } from "./timed-out-payloads.ts";
import type { UnsafeBlockCheck } from "./unsafe-block-check.ts";
import type { UnsafeGap } from "./unsafe-gap.ts";
import type { UnsafeInbox } from "./unsafe-inbox.ts";
import type { QueuedPayload } from "./unsafe-queue.ts";

export interface UnsafeInserterDeps {
  readonly inbox: Pick<UnsafeInbox, "peek" | "remove">;
  readonly control: EngineControl;
  readonly l2: Pick<L2Blocks, "blockRefByNumber">;
  readonly gap: Pick<UnsafeGap, "takeForEngine">;
  readonly check: Pick<UnsafeBlockCheck, "ofChild" | "ofDescendant">;
  readonly sequencer: Pick<Sequencer, "isActive">;
  readonly refused: Pick<RefusedBlocks, "add">;
  readonly timeouts: Pick<TimedOutPayloads, "count" | "add">;
  /** Whether a block was found to execute an invalid message of another chain. */
  readonly isDenied: (number: number, hash: Hex) => boolean;
  readonly clock: Pick<Clock, "monotonicMs">;
  readonly log: Logger;
}

/** How often a payload is given to an engine that answers everything else. */
const MAX_TIMEOUTS = 2;

/**
 * Extends the unsafe chain with payloads of other nodes. It does not replace a block, except where the engine received a payload
 * with missing parents. While this node sequences, it takes only payloads from its operator or conductor. Spec:
 * docs/protocol/02-derivation.md#unsafe-payload-queue
 */
export class UnsafeInserter {
  private readonly deps: UnsafeInserterDeps;
  /** the payload whose parents the engine is fetching */
  private syncedTo: Hex | undefined;

  constructor(deps: UnsafeInserterDeps) {
    this.deps = deps;
  }

  async turn(): Promise<Progress> {
    const { control, inbox, clock, log } = this.deps;
    const lowest = inbox.peek();
    if (lowest === undefined) return IDLE;
    const { ref, envelope } = lowest;
    const { unsafe, safe } = control.heads;
    const fields = { number: ref.number, hash: ref.hash };
    const isKnown = ref.hash === unsafe.hash || ref.number <= safe.number || ref.number <= unsafe.number;
    if (isKnown || (ref.parentHash !== unsafe.hash && ref.number === unsafe.number + 1)) {
      inbox.remove(ref.hash);
      if (!isKnown) log.debug("unsafe payload does not build on our chain, dropping it", fields);
      return PROGRESS;
    }
    if (lowest.isFromPeers && this.deps.sequencer.isActive) {
      return this.refuse(
        lowest,
        "sequencing",
        "this node is the sequencer: either another one is active, or its key is in other hands",
      );
    }
    const isChild = ref.parentHash === unsafe.hash;
    if (!isChild && !this.deps.gap.takeForEngine(ref.hash)) return IDLE;
    const stopped = await this.whyNotGiven(lowest, isChild);
    if (stopped !== undefined) return stopped;
    if (!isChild) return this.handOver(lowest);
    const startMs = clock.monotonicMs();
    const inserted = await control.insert(envelope);
    if (inserted.kind === "temporary") this.noteTimeout(ref.hash, inserted);
    if (inserted.kind === "invalid") {
      return this.refuse(lowest, "engine", inserted.reason);
    }
    if (inserted.kind !== "inserted") return inserted;
    inbox.remove(ref.hash);
    control.setHeads({ ...control.heads, unsafe: ref });
    const told = await control.sendForkchoice();
    log.info("new unsafe block", { ...fields, ...blockFacts(envelope.executionPayload, clock.monotonicMs() - startMs) });
    return told;
  }

  /** What stops a payload from being given to the engine. It is dropped, or the reason may pass. */
  private async whyNotGiven(payload: QueuedPayload, isChild: boolean): Promise<Progress | undefined> {
    const { control } = this.deps;
    const { ref } = payload;
    if (this.deps.isDenied(ref.number, ref.hash)) {
      return this.refuse(payload, "denied", "it executes an invalid message of another chain");
    }
    const timeouts = this.deps.timeouts.count(ref.hash);
    if (timeouts >= MAX_TIMEOUTS) {
      return this.refuse(payload, "timeout", `the engine did not finish it in time ${timeouts} times, and does not get it again`);
    }
    const verdict = await this.deps.check[isChild ? "ofChild" : "ofDescendant"](control.heads.unsafe, payload);
    if (verdict.kind === "wrong") return this.refuse(payload, verdict.fault, verdict.reason);
    if (verdict.kind !== "right") return verdict;
    if (timeouts === 0) return undefined;
    // an engine that answers nothing says nothing about the payload
    control.forgetSentForkchoice();
    const told = await control.sendForkchoice();
    return told.kind === "progress" ? undefined : told;
  }

  private refuse({ ref }: QueuedPayload, cause: RefusalCause, reason: string): Progress {
    this.deps.inbox.remove(ref.hash);
    this.deps.refused.add(ref, cause, reason);
    return PROGRESS;
  }

  private noteTimeout(hash: Hex, { hasTimedOut = false }: Extract<Progress, { kind: "temporary" }>): void {
    if (hasTimedOut) this.deps.timeouts.add(hash);
  }

  /** Hands the engine a payload with missing parents. Its chain is ours once the engine has all of it, unless L1 contradicts it. */
  private async handOver(payload: QueuedPayload): Promise<Progress> {
    const { ref, envelope } = payload;
    const { control, inbox, log } = this.deps;
    const fields = { number: ref.number, hash: ref.hash, after: control.heads.unsafe.number };
    const outcome = await control.handOver(envelope, ref);
    if (outcome.kind === "syncing") {
      if (this.syncedTo !== ref.hash)
        log.info("no peer answers for missing unsafe blocks: the engine fetches them from its own peers", fields);
      this.syncedTo = ref.hash;
      return IDLE;
    }
    this.syncedTo = undefined;
    if (outcome.kind === "temporary") {
      this.noteTimeout(ref.hash, outcome);
      return outcome;
    }
    if (outcome.kind === "invalid") return this.refuse(payload, "engine", outcome.reason);
    const { pendingSafe } = control.heads;
    try {
      const derived = await this.deps.l2.blockRefByNumber(pendingSafe.number);
      if (derived?.hash !== pendingSafe.hash) {
        this.refuse(payload, "engine", `its chain lacks block ${pendingSafe.number} ${pendingSafe.hash}, which L1 says`);
        return await control.takeHeadBack();
      }
    } catch (error) {
      if (!isCodedError(error, "engine/")) throw error;
      return temporary(`block of another node: ${error.message}`);
    }
    inbox.remove(ref.hash);
    control.setHeads({ ...control.heads, unsafe: ref });
    log.info("the engine has fetched the missing unsafe blocks", fields);
    return PROGRESS;
  }
}

/** Log fields of a new block. @param elapsedMs time until it was the head */
const blockFacts = ({ transactions, gasUsed }: ExecutionPayload, elapsedMs: number): LogFields => ({
  txs: transactions.length,
  gasUsed,
  elapsedMs,
  mgasPerSec: elapsedMs > 0 ? Number((Number(gasUsed) / 1000 / elapsedMs).toFixed(2)) : undefined,
});
