import { bytesToHex, type Hex } from "@rnode/primitives";
import type { ExecutionPayloadEnvelope } from "@rnode/protocol";

export interface QueuedPayload {
  readonly hash: Hex;
  readonly parentHash: Hex;
  readonly number: number;
  readonly envelope: ExecutionPayloadEnvelope;
  readonly sizeBytes: number;
}

export type Enqueued = "queued" | "duplicate" | "too-large";

const DEFAULT_MAX_BYTES = 500 * 1024 * 1024;

/** Estimate of the memory a payload takes. Spec: docs/protocol/02-derivation.md#unsafe-payload-queue */
function payloadSizeBytes({ executionPayload }: ExecutionPayloadEnvelope): number {
  return executionPayload.transactions.reduce((sum, { length }) => sum + length + 24, 1_000);
}

/** Unsafe payloads that wait for their parents, lowest number first, bounded in memory: the lowest are dropped when it is full. */
export class UnsafeQueue {
  private readonly maxBytes: number;
  /** ascending by number, then by arrival */
  private readonly payloads: QueuedPayload[] = [];
  private readonly hashes = new Set<Hex>();
  private bytes = 0;
  /** payloads dropped because the queue was full */
  droppedCount = 0;

  constructor(maxBytes: number = DEFAULT_MAX_BYTES) {
    this.maxBytes = maxBytes;
  }

  get length(): number {
    return this.payloads.length;
  }

  get sizeBytes(): number {
    return this.bytes;
  }

  push(envelope: ExecutionPayloadEnvelope): Enqueued {
    const { blockHash, parentHash, blockNumber } = envelope.executionPayload;
    const hash = bytesToHex(blockHash);
    const sizeBytes = payloadSizeBytes(envelope);
    if (this.hashes.has(hash)) return "duplicate";
    if (sizeBytes > this.maxBytes) return "too-large";
    const at = this.payloads.findIndex(({ number }) => number > blockNumber);
    const queued: QueuedPayload = { hash, parentHash: bytesToHex(parentHash), number: blockNumber, envelope, sizeBytes };
    this.payloads.splice(at < 0 ? this.payloads.length : at, 0, queued);
    this.hashes.add(hash);
    this.bytes += sizeBytes;
    while (this.bytes > this.maxBytes) {
      this.pop();
      this.droppedCount++;
    }
    return "queued";
  }

  /** The lowest. */
  peek(): QueuedPayload | undefined {
    return this.payloads[0];
  }

  pop(): QueuedPayload | undefined {
    const lowest = this.payloads.shift();
    if (lowest === undefined) return undefined;
    this.hashes.delete(lowest.hash);
    this.bytes -= lowest.sizeBytes;
    return lowest;
  }
}
