import { bytesToHex, type Hex, isCodedError } from "@rnode/primitives";
import {
  type ExecutionPayloadEnvelope,
  HashedPayload,
  type L2BlockRef,
  l2BlockRefFromPayload,
  type RollupConfig,
  rollupRulesAt,
} from "@rnode/protocol";
import { orderedTrieRoot } from "@rnode/trie";
import { payloadSizeBytes, type QueuedPayload, UnsafeQueue, type UnsafeQueueLimits } from "./unsafe-queue.ts";

/** Far above what the SystemConfig contract lets any chain have (500 million), and below what stops an engine for good. */
const MAX_PLAUSIBLE_GAS_LIMIT = 10_000_000_000n;

/** What happened to a payload that was offered. */
export type Offered =
  | { readonly kind: "queued" | "duplicate" }
  | { readonly kind: "bad-hash"; readonly stated: Hex; readonly actual: Hex }
  /** a block of this chain cannot have this form */
  | { readonly kind: "malformed"; readonly reason: string }
  | { readonly kind: "too-large"; readonly sizeBytes: number; readonly maxBytes: number }
  /** the queue is full of payloads with lower numbers above the head */
  | { readonly kind: "full"; readonly waiting: number };

export interface UnsafeInboxDeps {
  readonly config: RollupConfig;
  /** number of the unsafe head; `undefined` if it is not known yet */
  readonly headNumber: () => number | undefined;
  /** a payload was added to the queue */
  readonly onQueued: () => void;
  /** hashes a payload's content; the hash of the content is returned if it is another one */
  readonly hashed?: (config: RollupConfig, envelope: ExecutionPayloadEnvelope) => HashedPayload | Uint8Array;
  readonly limits?: UnsafeQueueLimits;
}

/**
 * The only entrance for blocks made by others, whether from the network or from `admin_postUnsafePayload`. Everything in the queue was
 * checked, and the queue is bounded.
 */
export class UnsafeInbox {
  private readonly deps: UnsafeInboxDeps;
  private readonly queue: UnsafeQueue;
  /** payloads that were queued since the start */
  queuedCount = 0;

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

  /** May be called at any time, even in the middle of a turn of the driver. */
  offer(envelope: ExecutionPayloadEnvelope, from: "peers" | "operator" = "peers"): Offered {
    const { maxBytes } = this.queue.limits;
    const sizeBytes = payloadSizeBytes(envelope);
    if (sizeBytes > maxBytes) return { kind: "too-large", sizeBytes, maxBytes };
    if (this.queue.has(bytesToHex(envelope.executionPayload.blockHash))) return { kind: "duplicate" };
    const checked = checkUnsafePayload(this.deps.config, envelope, this.deps.hashed);
    if (checked.kind !== "valid") return checked;
    const enqueued = this.queue.push(
      { ref: checked.ref, envelope: checked.envelope, isFromPeers: from === "peers" },
      this.deps.headNumber(),
    );
    if (enqueued === "full") return { kind: "full", waiting: this.queue.length };
    if (enqueued === "too-large") return { kind: "too-large", sizeBytes, maxBytes };
    if (enqueued === "queued") {
      this.queuedCount++;
      this.deps.onQueued();
    }
    return { kind: enqueued };
  }

  /** The payload with the lowest number. */
  peek(): QueuedPayload | undefined {
    return this.queue.peek();
  }

  get newest(): QueuedPayload | undefined {
    return this.queue.newest;
  }

  remove(hash: Hex): void {
    this.queue.remove(hash);
  }
}

type CheckedPayload =
  | { readonly kind: "valid"; readonly ref: L2BlockRef; readonly envelope: HashedPayload }
  | Extract<Offered, { kind: "bad-hash" | "malformed" }>;

/** Hashes a payload in the form that blocks of its time have, unless the network has done so. */
const hashedAtItsTime: NonNullable<UnsafeInboxDeps["hashed"]> = ({ forkTimes }, envelope) => {
  const { hasExecutionRequests } = rollupRulesAt(forkTimes, envelope.executionPayload.timestamp);
  return HashedPayload.hash(envelope, hasExecutionRequests, orderedTrieRoot);
};

/**
 * Checks what can be checked without the parent: the payload's hash covers its content, the payload names its L1 origin, its time is that
 * of its number, and its gas limit is one that a chain may have.
 */
export function checkUnsafePayload(
  config: RollupConfig,
  envelope: ExecutionPayloadEnvelope,
  hashed: NonNullable<UnsafeInboxDeps["hashed"]> = hashedAtItsTime,
): CheckedPayload {
  const { blockHash, blockNumber, timestamp, gasLimit } = envelope.executionPayload;
  const { genesis, blockTimeSec } = config;
  const dueSec = genesis.l2TimeSec + (blockNumber - genesis.l2.number) * blockTimeSec;
  if (timestamp !== dueSec) {
    return { kind: "malformed", reason: `block ${blockNumber} has the time ${timestamp}, but is due at ${dueSec}` };
  }
  if (gasLimit > MAX_PLAUSIBLE_GAS_LIMIT) return { kind: "malformed", reason: `its gas limit is ${gasLimit}` };
  try {
    const payload = hashed(config, envelope);
    if (!(payload instanceof HashedPayload))
      return { kind: "bad-hash", stated: bytesToHex(blockHash), actual: bytesToHex(payload) };
    return { kind: "valid", ref: l2BlockRefFromPayload(config, payload.executionPayload), envelope: payload };
  } catch (error) {
    if (!isCodedError(error)) throw error;
    return { kind: "malformed", reason: error.message };
  }
}
