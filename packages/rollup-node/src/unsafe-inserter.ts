import type { LogFields, Logger } from "@rnode/observe";
import type { Clock } from "@rnode/primitives";
import type { ExecutionPayload } from "@rnode/protocol";
import type { EngineControl } from "./engine-control.ts";
import { IDLE, PROGRESS, type Progress } from "./progress.ts";
import type { UnsafeInbox } from "./unsafe-inbox.ts";

export interface UnsafeInserterDeps {
  readonly inbox: Pick<UnsafeInbox, "peek" | "remove">;
  readonly control: EngineControl;
  readonly clock: Pick<Clock, "monotonicMs">;
  readonly log: Logger;
}

/**
 * Extends the unsafe chain with payloads that others made. It never replaces a block: only derivation does.
 * Spec: docs/protocol/02-derivation.md#unsafe-payload-queue
 */
export class UnsafeInserter {
  private readonly deps: UnsafeInserterDeps;

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
    if (ref.parentHash !== unsafe.hash) return IDLE; // there is a gap, but the missing parents may still arrive
    const startMs = clock.monotonicMs();
    const inserted = await control.insert(envelope);
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
}

/** What a line about a new block says of it. @param elapsedMs it took to make it the head */
const blockFacts = ({ transactions, gasUsed }: ExecutionPayload, elapsedMs: number): LogFields => ({
  txs: transactions.length,
  gasUsed,
  elapsedMs,
  mgasPerSec: elapsedMs > 0 ? Number((Number(gasUsed) / 1000 / elapsedMs).toFixed(2)) : undefined,
});
