import type { Hex } from "@rnode/primitives";
import type { ExecutionPayloadEnvelope, L2BlockRef } from "@rnode/protocol";

export interface QueuedPayload {
  readonly ref: L2BlockRef;
  readonly envelope: ExecutionPayloadEnvelope;
}

export type Enqueued = "queued" | "duplicate" | "too-large" | "full";

export interface UnsafeQueueLimits {
  readonly maxPayloads: number;
  readonly maxBytes: number;
}

/** More than half an hour of blocks, and enough memory for 2,000 blocks of 64 kB. */
const DEFAULT_LIMITS: UnsafeQueueLimits = { maxPayloads: 2_000, maxBytes: 128 * 1024 * 1024 };

/** Estimates the memory that a payload takes. Spec: docs/protocol/02-derivation.md#unsafe-payload-queue */
export function payloadSizeBytes({ executionPayload }: ExecutionPayloadEnvelope): number {
  return executionPayload.transactions.reduce((sum, { length }) => sum + length + 24, 1_000);
}

/**
 * Unsafe payloads that wait for their parents, lowest number first. The queue is bounded in count and memory. When it is full, the
 * lowest payloads are dropped; but for the parent of the lowest, the highest are. A gap that is filled from its upper end down would
 * never be filled otherwise if it did not fit.
 */
export class UnsafeQueue {
  readonly limits: UnsafeQueueLimits;
  /** ordered by number, then by arrival */
  private readonly payloads: QueuedPayload[] = [];
  private readonly hashes = new Set<Hex>();
  private bytes = 0;
  /** number of payloads dropped because the queue was full */
  droppedCount = 0;

  constructor(limits: UnsafeQueueLimits = DEFAULT_LIMITS) {
    this.limits = limits;
  }

  get length(): number {
    return this.payloads.length;
  }

  get sizeBytes(): number {
    return this.bytes;
  }

  has(hash: Hex): boolean {
    return this.hashes.has(hash);
  }

  push(payload: QueuedPayload): Enqueued {
    const { ref, envelope } = payload;
    const sizeBytes = payloadSizeBytes(envelope);
    if (this.hashes.has(ref.hash)) return "duplicate";
    if (sizeBytes > this.limits.maxBytes) return "too-large";
    const isParentOfLowest = this.payloads[0]?.ref.parentHash === ref.hash;
    const at = this.payloads.findIndex((other) => other.ref.number > ref.number);
    this.payloads.splice(at < 0 ? this.payloads.length : at, 0, payload);
    this.hashes.add(ref.hash);
    this.bytes += sizeBytes;
    while (this.bytes > this.limits.maxBytes || this.payloads.length > this.limits.maxPayloads) {
      this.removeAt(isParentOfLowest ? this.payloads.length - 1 : 0);
      this.droppedCount++;
    }
    return this.hashes.has(ref.hash) ? "queued" : "full";
  }

  /** The payload with the lowest number. */
  peek(): QueuedPayload | undefined {
    return this.payloads[0];
  }

  /** By hash, because the lowest payload may have changed since `peek`. */
  remove(hash: Hex): void {
    const at = this.payloads.findIndex(({ ref }) => ref.hash === hash);
    if (at >= 0) this.removeAt(at);
  }

  private removeAt(at: number): void {
    const [removed] = this.payloads.splice(at, 1);
    if (removed === undefined) return;
    this.hashes.delete(removed.ref.hash);
    this.bytes -= payloadSizeBytes(removed.envelope);
  }
}
