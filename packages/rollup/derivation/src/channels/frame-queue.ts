import { equalBytes, isCodedError } from "@rnode/primitives";
import { decodeBatcherData, type Frame, type FrameErrorCode, type L2BlockRef, MAX_FRAME_NUMBER } from "@rnode/protocol";
import type { BatcherData } from "../l1/l1-retrieval.ts";
import type { L1Position } from "../l1/l1-traversal.ts";
import type { DataDropReason, DerivationObserver, FrameDropReason } from "../observer.ts";
import { AGAIN, type PipelineStage, type Pull, type Source } from "../pull.ts";

const DROP_REASONS: Readonly<Record<Exclude<FrameErrorCode, "frame/bad-number">, DataDropReason>> = {
  "frame/empty": "empty",
  "frame/unknown-version": "unknown-version",
  "frame/no-frames": "no-frames",
  "frame/truncated": "frame-truncated",
  "frame/too-long": "frame-too-long",
  "frame/bad-is-last": "frame-bad-is-last",
};

/** The frames of the batcher's data, one by one. Spec: docs/protocol/02-derivation.md#frames */
export class FrameQueue implements PipelineStage<Frame> {
  readonly #position: L1Position;
  readonly #previous: Source<BatcherData>;
  readonly #observer: DerivationObserver;
  #frames: Frame[] = [];

  constructor(position: L1Position, previous: Source<BatcherData>, observer: DerivationObserver) {
    this.#position = position;
    this.#previous = previous;
    this.#observer = observer;
  }

  reset(): void {
    this.#frames = [];
  }

  activateStrictOrder(): void {
    this.reset();
  }

  async next(l2SafeHead: L2BlockRef): Promise<Pull<Frame>> {
    if (this.#frames.length === 0) {
      const pulled = await this.#previous.next(l2SafeHead);
      if (pulled.kind !== "value") return pulled;
      this.#load(pulled.value);
    }
    const value = this.#frames.shift();
    return value === undefined ? AGAIN : { kind: "value", value };
  }

  /** Either all bytes of an item are frames, or the item is ignored. */
  #load({ bytes, transactionHash }: BatcherData): void {
    const { origin: block, rules } = this.#position;
    let frames: Frame[];
    try {
      frames = decodeBatcherData(bytes);
    } catch (error) {
      if (!isCodedError(error, "frame/")) throw error;
      const reason = DROP_REASONS[error.code as keyof typeof DROP_REASONS];
      this.#observer.onDataDropped({ block, transactionHash, reason });
      return;
    }
    for (const frame of frames) this.#observer.onFrame({ block, transactionHash, frame });
    if (rules.hasStrictOrder) {
      pruneFrames(frames, (frame, reason) => this.#observer.onFrameDropped({ block, frame, reason }));
    }
    this.#frames = frames;
  }
}

/** From Holocene on: removes frames that cannot be part of a channel whose frames follow one another. */
export function pruneFrames(frames: Frame[], onDrop: (frame: Frame, reason: FrameDropReason) => void): void {
  for (let i = 0; i + 1 < frames.length; ) {
    const fault = pairFault(frames[i]!, frames[i + 1]!);
    if (fault === undefined) {
      i++;
      continue;
    }
    const [dropped] = frames.splice(fault.drops === "first" ? i : i + 1, 1);
    onDrop(dropped!, fault.reason);
    // The frames before the dropped one may belong to the same unclosed channel: check them next.
    if (fault.drops === "first" && i > 0) i--;
  }
}

function pairFault(first: Frame, second: Frame): { drops: "first" | "second"; reason: FrameDropReason } | undefined {
  if (equalBytes(first.channelId, second.channelId)) {
    if (first.isLast) return { drops: "second", reason: "after-last" };
    // Frame numbers have 16 bits: 0 follows 65,535, and starts a new channel.
    return second.number === (first.number + 1) % (MAX_FRAME_NUMBER + 1) ? undefined : { drops: "second", reason: "out-of-order" };
  }
  if (second.number !== 0) return { drops: "second", reason: "not-first" };
  return first.isLast ? undefined : { drops: "first", reason: "channel-replaced" };
}
