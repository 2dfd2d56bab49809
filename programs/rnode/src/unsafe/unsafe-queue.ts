import type { Hex } from "@rnode/primitives";
import type { ExecutionPayloadEnvelope, HashedPayload, L2BlockRef } from "@rnode/protocol";

export interface QueuedPayload {
  readonly ref: L2BlockRef;
  readonly envelope: HashedPayload;
  /** false: this node's operator or conductor handed it over */
  readonly isFromPeers: boolean;
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
 * Unsafe payloads that wait for their parents, lowest number first. The queue is bounded in count and memory. When it is full, payloads
 * that the head has passed are dropped, then those farthest ahead of it: what comes next for the chain stays, whatever else is signed.
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

  /** @param headNumber of the unsafe head, if it is known */
  push(payload: QueuedPayload, headNumber = -1): Enqueued {
    const { ref, envelope } = payload;
    const sizeBytes = payloadSizeBytes(envelope);
    if (this.hashes.has(ref.hash)) return "duplicate";
    if (sizeBytes > this.limits.maxBytes) return "too-large";
    const at = this.payloads.findIndex((other) => other.ref.number > ref.number);
    this.payloads.splice(at < 0 ? this.payloads.length : at, 0, payload);
    this.hashes.add(ref.hash);
    this.bytes += sizeBytes;
    while (this.bytes > this.limits.maxBytes || this.payloads.length > this.limits.maxPayloads) {
      this.removeAt(this.payloads[0]!.ref.number <= headNumber ? 0 : this.payloads.length - 1);
      this.droppedCount++;
    }
    return this.hashes.has(ref.hash) ? "queued" : "full";
  }

  /** The payload with the lowest number. */
  peek(): QueuedPayload | undefined {
    return this.payloads[0];
  }

  get newest(): QueuedPayload | undefined {
    return this.payloads.at(-1);
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
