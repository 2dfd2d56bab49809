import type { Hex } from "@rnode/primitives";
import type { Frame, L1BlockRef, SkippedLog } from "@rnode/protocol";
import type { BatchVerdict } from "./batches/batch-verdict.ts";

/** Why an item of batcher data (calldata or a blob) contains no frames. */
export type DataDropReason =
  | "bad-blob"
  | "empty"
  | "unknown-version"
  | "no-frames"
  | "frame-truncated"
  | "frame-too-long"
  | "frame-bad-is-last"
  /** alternative DA: not a commitment; one of the type that the chain does not use; its data was challenged and not shown, or is too long */
  | "bad-commitment"
  | "wrong-commitment-type"
  | "challenge-expired"
  | "input-too-long";

export type FrameDropReason =
  /** Holocene: the number does not follow its predecessor's in the same channel */
  | "out-of-order"
  /** follows the last frame of its channel */
  | "after-last"
  /** Holocene: the first frame of a channel to be seen, but not number 0 */
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
  /** Holocene: larger than the limit for the uncompressed content */
  | "too-large"
  /** neither zlib nor an allowed brotli channel */
  | "unknown-compression"
  /** the decompressed content was read to its end */
  | "read"
  /** the content after the batches read so far is malformed and was skipped */
  | "malformed"
  /** the rest was dropped because one of its batches was invalid */
  | "flushed";

/** The L1 contracts whose logs derivation reads. */
export type LogContract = "SystemConfig" | "OptimismPortal" | "DataAvailabilityChallenge";

/** Observations about one batch. */
export interface ObservedBatch {
  readonly type: "singular" | "span" | "empty";
  readonly channelId: Hex | undefined;
  readonly l1InclusionBlock: L1BlockRef;
  /** seconds */
  readonly timestamp: number;
  readonly epochNumber: number;
  readonly blockCount: number;
  readonly transactionCount: number;
  /** whether it is a block of a span that was checked on its own (Holocene) */
  readonly fromSpan: boolean;
}

/** Gets the results of the data, in order, for metrics and logs. Must not throw. */
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
  onLogSkipped(event: { block: L1BlockRef; contract: LogContract } & SkippedLog): void;
  /** @param event `frame` is the same object in `onFrameDropped` */
  onFrame(event: { block: L1BlockRef; transactionHash: Hex; frame: Frame }): void;
  onFrameDropped(event: { block: L1BlockRef; frame: Frame; reason: FrameDropReason }): void;
  onChannel(event: { block: L1BlockRef; channelId: Hex; event: ChannelEvent; sizeBytes: number; detail?: string }): void;
  onBatch(event: { batch: ObservedBatch; verdict: BatchVerdict }): void;
}

const nothing = (): void => {};

export const SILENT_OBSERVER: DerivationObserver = {
  onL1Block: nothing,
  onData: nothing,
  onDataDropped: nothing,
  onLogSkipped: nothing,
  onFrame: nothing,
  onFrameDropped: nothing,
  onChannel: nothing,
  onBatch: nothing,
};

/** Combines observers into one that calls all of them, in order. */
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
    onLogSkipped: tellAll("onLogSkipped"),
    onFrame: tellAll("onFrame"),
    onFrameDropped: tellAll("onFrameDropped"),
    onChannel: tellAll("onChannel"),
    onBatch: tellAll("onBatch"),
  };
}
