import { bytesToHex, EMPTY_REQUESTS_HASH, equalBytes, type Hex, isCodedError } from "@rnode/primitives";
import {
  type ExecutionPayloadEnvelope,
  hashHeader,
  type L2BlockRef,
  l2BlockRefFromPayload,
  payloadToBlock,
  type RollupConfig,
  rollupRulesAt,
} from "@rnode/protocol";
import { orderedTrieRoot } from "@rnode/trie";
import { payloadSizeBytes, type QueuedPayload, UnsafeQueue, type UnsafeQueueLimits } from "./unsafe-queue.ts";

/** What became of a payload that somebody offered. */
export type Offered =
  | { readonly kind: "queued" | "duplicate" }
  | { readonly kind: "bad-hash"; readonly stated: Hex; readonly actual: Hex }
  /** no block of this chain has this form */
  | { readonly kind: "malformed"; readonly reason: string }
  | { readonly kind: "too-large"; readonly sizeBytes: number; readonly maxBytes: number }
  /** so many wait, all of them with higher numbers */
  | { readonly kind: "full"; readonly waiting: number };

export interface UnsafeInboxDeps {
  readonly config: RollupConfig;
  /** a payload waits that did not before */
  readonly onQueued: () => void;
  /** the hash that a payload's content has */
  readonly hashOf?: (config: RollupConfig, envelope: ExecutionPayloadEnvelope) => Uint8Array;
  readonly limits?: UnsafeQueueLimits;
}

/** The one door for blocks that others made, from the network and from `admin_postUnsafePayload`. Nothing waits unchecked, or without a bound. */
export class UnsafeInbox {
  private readonly deps: UnsafeInboxDeps;
  private readonly queue: UnsafeQueue;

  constructor(deps: UnsafeInboxDeps) {
    this.deps = deps;
    this.queue = new UnsafeQueue(deps.limits);
  }

  get length(): number {
    return this.queue.length;
  }

  get sizeBytes(): number {
    return this.queue.sizeBytes;
  }

  /** At any time, also in the middle of a turn of the driver. */
  offer(envelope: ExecutionPayloadEnvelope): Offered {
    const { maxBytes } = this.queue.limits;
    const sizeBytes = payloadSizeBytes(envelope);
    if (sizeBytes > maxBytes) return { kind: "too-large", sizeBytes, maxBytes };
    if (this.queue.has(bytesToHex(envelope.executionPayload.blockHash))) return { kind: "duplicate" };
    const checked = checkUnsafePayload(this.deps.config, envelope, this.deps.hashOf);
    if (checked.kind !== "valid") return checked;
    const enqueued = this.queue.push({ ref: checked.ref, envelope });
    if (enqueued === "full") return { kind: "full", waiting: this.queue.length };
    if (enqueued === "too-large") return { kind: "too-large", sizeBytes, maxBytes };
    if (enqueued === "queued") this.deps.onQueued();
    return { kind: enqueued };
  }

  /** The lowest payload that waits. */
  peek(): QueuedPayload | undefined {
    return this.queue.peek();
  }

  remove(hash: Hex): void {
    this.queue.remove(hash);
  }
}

type CheckedPayload = { readonly kind: "valid"; readonly ref: L2BlockRef } | Extract<Offered, { kind: "bad-hash" | "malformed" }>;

/** What can be said of a payload without its parent: its hash covers its content, and it names its L1 origin. */
export function checkUnsafePayload(
  config: RollupConfig,
  envelope: ExecutionPayloadEnvelope,
  hashOf: NonNullable<UnsafeInboxDeps["hashOf"]> = payloadHash,
): CheckedPayload {
  const { blockHash } = envelope.executionPayload;
  try {
    const actual = hashOf(config, envelope);
    if (!equalBytes(actual, blockHash)) return { kind: "bad-hash", stated: bytesToHex(blockHash), actual: bytesToHex(actual) };
    return { kind: "valid", ref: l2BlockRefFromPayload(config, envelope.executionPayload) };
  } catch (error) {
    if (!isCodedError(error)) throw error;
    return { kind: "malformed", reason: error.message };
  }
}

function payloadHash({ forkTimes }: RollupConfig, envelope: ExecutionPayloadEnvelope): Uint8Array {
  const { hasExecutionRequests } = rollupRulesAt(forkTimes, envelope.executionPayload.timestamp);
  return hashHeader(payloadToBlock(envelope, hasExecutionRequests ? EMPTY_REQUESTS_HASH : undefined, orderedTrieRoot).header);
}
