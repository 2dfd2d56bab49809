import type { LogFields, Logger } from "@rnode/observe";
import type { Clock, Hex } from "@rnode/primitives";
import type { ExecutionPayload } from "@rnode/protocol";
import type { EngineControl } from "./engine-control.ts";
import { IDLE, PROGRESS, type Progress } from "./progress.ts";
import type { TimedOutPayloads } from "./timed-out-payloads.ts";
import type { UnsafeGap } from "./unsafe-gap.ts";
import type { UnsafeGasLimit } from "./unsafe-gas-limit.ts";
import type { UnsafeInbox } from "./unsafe-inbox.ts";
import type { QueuedPayload } from "./unsafe-queue.ts";

export interface UnsafeInserterDeps {
  readonly inbox: Pick<UnsafeInbox, "peek" | "remove">;
  readonly control: EngineControl;
  readonly gap: Pick<UnsafeGap, "takeForEngine">;
  readonly gasLimit: Pick<UnsafeGasLimit, "ofChild" | "ofDescendant">;
  readonly timeouts: Pick<TimedOutPayloads, "count" | "add">;
  readonly clock: Pick<Clock, "monotonicMs">;
  readonly log: Logger;
}

/** How often a payload is given to an engine that answers everything else. */
const MAX_TIMEOUTS = 2;

/**
 * Extends the unsafe chain with payloads that others made. It does not replace a block, except where the engine was handed a payload with
 * missing parents.
 * Spec: docs/protocol/02-derivation.md#unsafe-payload-queue
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
    const isChild = ref.parentHash === unsafe.hash;
    if (!isChild && !this.deps.gap.takeForEngine(ref.hash)) return IDLE;
    const stopped = await this.whyNotGiven(lowest, isChild);
    if (stopped !== undefined) return stopped;
    if (!isChild) return this.handOver(lowest);
    const startMs = clock.monotonicMs();
    const inserted = await control.insert(envelope);
    if (inserted.kind === "temporary") this.noteTimeout(ref.hash, inserted);
    if (inserted.kind === "invalid") {
      inbox.remove(ref.hash);
      log.warn("unsafe payload is invalid, dropping it", { ...fields, reason: inserted.reason });
      return PROGRESS;
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
    const { control, inbox, log } = this.deps;
    const { ref, envelope } = payload;
    const { gasLimit } = envelope.executionPayload;
    const fields = { number: ref.number, hash: ref.hash };
    const timeouts = this.deps.timeouts.count(ref.hash);
    if (timeouts >= MAX_TIMEOUTS) {
      inbox.remove(ref.hash);
      log.warn("the engine did not finish an unsafe payload in time, and does not get it again", { ...fields, attempts: timeouts });
      return PROGRESS;
    }
    const verdict = await this.deps.gasLimit[isChild ? "ofChild" : "ofDescendant"](control.heads.unsafe, payload);
    if (verdict.kind === "wrong") {
      inbox.remove(ref.hash);
      log.warn("unsafe payload has a gas limit that L1 does not allow, dropping it", {
        ...fields,
        gasLimit,
        expected: verdict.expected,
      });
      return PROGRESS;
    }
    if (verdict.kind !== "right") return verdict;
    if (timeouts === 0) return undefined;
    // an engine that answers nothing says nothing about the payload
    control.forgetSentForkchoice();
    const told = await control.sendForkchoice();
    return told.kind === "progress" ? undefined : told;
  }

  private noteTimeout(hash: Hex, { hasTimedOut = false }: Extract<Progress, { kind: "temporary" }>): void {
    if (hasTimedOut) this.deps.timeouts.add(hash);
  }

  /** Hands the engine a payload with missing parents. Its chain is ours once the engine has all of it. */
  private async handOver({ ref, envelope }: QueuedPayload): Promise<Progress> {
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
    inbox.remove(ref.hash);
    if (outcome.kind === "invalid") {
      log.warn("the engine refuses an unsafe payload with missing parents, dropping it", { ...fields, reason: outcome.reason });
      return PROGRESS;
    }
    control.setHeads({ ...control.heads, unsafe: ref });
    log.info("the engine has fetched the missing unsafe blocks", fields);
    return PROGRESS;
  }
}

/** What a line about a new block says of it. @param elapsedMs it took to make it the head */
const blockFacts = ({ transactions, gasUsed }: ExecutionPayload, elapsedMs: number): LogFields => ({
  txs: transactions.length,
  gasUsed,
  elapsedMs,
  mgasPerSec: elapsedMs > 0 ? Number((Number(gasUsed) / 1000 / elapsedMs).toFixed(2)) : undefined,
});
