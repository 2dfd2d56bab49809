import type { Hex } from "@rnode/primitives";
import type { Frame, L1BlockRef } from "@rnode/protocol";
import type { BatchVerdict } from "./batch-verdict.ts";

/** Why an item of batcher data (a calldata or a blob) gave no frames. */
export type DataDropReason =
  | "bad-blob"
  | "empty"
  | "unknown-version"
  | "no-frames"
  | "frame-truncated"
  | "frame-too-long"
  | "frame-bad-is-last";

export type FrameDropReason =
  /** Holocene: not the number after its predecessor in the same channel */
  | "out-of-order"
  /** follows the last frame of its channel */
  | "after-last"
  /** Holocene: first seen frame of a channel, and not number 0 */
  | "not-first"
  /** Holocene: its channel was not closed when another one began */
  | "channel-replaced"
  /** Holocene: no channel is open */
  | "no-channel"
  | "wrong-channel"
  | "duplicate"
  | "second-last"
  | "channel-timed-out";

export type ChannelEvent =
  | "opened"
  | "ready"
  | "timed-out"
  /** the channel bank was full */
  | "pruned"
  /** Holocene: another channel began before this one was closed */
  | "replaced"
  /** Holocene: larger than the limit of its uncompressed content */
  | "too-large"
  /** neither zlib nor an allowed brotli channel */
  | "unknown-compression"
  /** read to the end of what came out of the decompressor */
  | "read"
  /** content after the batches read so far is malformed and was skipped */
  | "malformed"
  /** the rest was given up because a batch of it was invalid */
  | "flushed";

/** What the pipeline saw of one batch. */
export interface ObservedBatch {
  readonly type: "singular" | "span" | "empty";
  readonly channelId: Hex | undefined;
  readonly l1InclusionBlock: L1BlockRef;
  /** seconds */
  readonly timestamp: number;
  readonly epochNumber: number;
  readonly blockCount: number;
  readonly transactionCount: number;
  /** where a batch of a span was checked on its own (Holocene) */
  readonly fromSpan: boolean;
}

/** Told what became of the data, in order. Must not throw. For metrics, logs and `rnode derive --explain`. */
export interface DerivationObserver {
  onL1Block(block: L1BlockRef): void;
  onData(event: {
    block: L1BlockRef;
    transactionHash: Hex;
    source: "calldata" | "blob";
    blobIndex?: number;
    sizeBytes: number;
  }): void;
  onDataDropped(event: { block: L1BlockRef; transactionHash: Hex; reason: DataDropReason }): void;
  onFrame(event: { block: L1BlockRef; frame: Frame }): void;
  onFrameDropped(event: { block: L1BlockRef; frame: Frame; reason: FrameDropReason }): void;
  onChannel(event: { block: L1BlockRef; channelId: Hex; event: ChannelEvent; sizeBytes: number; detail?: string }): void;
  onBatch(event: { batch: ObservedBatch; verdict: BatchVerdict }): void;
}

const nothing = (): void => {};

export const SILENT_OBSERVER: DerivationObserver = {
  onL1Block: nothing,
  onData: nothing,
  onDataDropped: nothing,
  onFrame: nothing,
  onFrameDropped: nothing,
  onChannel: nothing,
  onBatch: nothing,
};

/** One observer that tells all of them, in their order. */
export function joinObservers(...observers: readonly Partial<DerivationObserver>[]): DerivationObserver {
  type Listener = (event: never) => void;
  const tellAll = <K extends keyof DerivationObserver>(name: K): DerivationObserver[K] => {
    const listeners = observers.flatMap((observer) => observer[name] ?? []) as readonly Listener[];
    return ((event: never) => {
      for (const listener of listeners) listener(event);
    }) as DerivationObserver[K];
  };
  return {
    onL1Block: tellAll("onL1Block"),
    onData: tellAll("onData"),
    onDataDropped: tellAll("onDataDropped"),
    onFrame: tellAll("onFrame"),
    onFrameDropped: tellAll("onFrameDropped"),
    onChannel: tellAll("onChannel"),
    onBatch: tellAll("onBatch"),
  };
}
