import type { Logger } from "@rnode/observe";
import { isCodedError } from "@rnode/primitives";
import { type ExecutionPayloadEnvelope, type L2BlockRef, l2BlockRefFromPayload, type RollupConfig } from "@rnode/protocol";
import type { EngineControl } from "./engine-control.ts";
import { IDLE, PROGRESS, type Progress } from "./progress.ts";
import { type Enqueued, UnsafeQueue } from "./unsafe-queue.ts";

export interface UnsafeInserterDeps {
  readonly config: RollupConfig;
  readonly control: EngineControl;
  readonly log: Logger;
}

/**
 * Extends the unsafe chain by payloads that others made. Never replaces a block: only derivation does.
 * Spec: docs/protocol/02-derivation.md#unsafe-payload-queue
 */
export class UnsafeInserter {
  private readonly deps: UnsafeInserterDeps;
  private readonly queue = new UnsafeQueue();

  constructor(deps: UnsafeInserterDeps) {
    this.deps = deps;
  }

  get queueLength(): number {
    return this.queue.length;
  }

  push(envelope: ExecutionPayloadEnvelope): Enqueued {
    return this.queue.push(envelope);
  }

  /** The lowest block that waits; undefined when none does or it cannot be read. */
  lowestQueued(): L2BlockRef | undefined {
    const lowest = this.queue.peek();
    return lowest === undefined ? undefined : this.refOf(lowest.envelope);
  }

  async turn(): Promise<Progress> {
    const { control, log } = this.deps;
    const lowest = this.queue.peek();
    if (lowest === undefined) return IDLE;
    const { unsafe, safe } = control.heads;
    const fields = { number: lowest.number, hash: lowest.hash };
    const isKnown = lowest.hash === unsafe.hash || lowest.number <= safe.number || lowest.number <= unsafe.number;
    if (isKnown || (lowest.parentHash !== unsafe.hash && lowest.number === unsafe.number + 1)) {
      this.queue.pop();
      if (!isKnown) log.debug("unsafe payload does not build on our chain, dropping it", fields);
      return PROGRESS;
    }
    if (lowest.parentHash !== unsafe.hash) return IDLE; // a gap: its parents may still come
    const ref = this.refOf(lowest.envelope);
    if (ref === undefined) {
      this.queue.pop();
      log.warn("unsafe payload has no valid L1 info, dropping it", fields);
      return PROGRESS;
    }
    const inserted = await control.insert(lowest.envelope);
    if (inserted.kind === "invalid") {
      this.queue.pop();
      log.warn("unsafe payload is invalid, dropping it", { ...fields, reason: inserted.reason });
      return PROGRESS;
    }
    if (inserted.kind !== "inserted") return inserted;
    this.queue.pop();
    control.setHeads({ ...control.heads, unsafe: ref });
    return control.announce();
  }

  private refOf(envelope: ExecutionPayloadEnvelope): L2BlockRef | undefined {
    try {
      return l2BlockRefFromPayload(this.deps.config, envelope.executionPayload);
    } catch (error) {
      if (!isCodedError(error)) throw error;
      return undefined;
    }
  }
}
