import { CodedError } from "@rnode/primitives";
import {
  derivationFactsAt,
  type ForkTimes,
  FRAME_OVERHEAD_BYTES,
  type Frame,
  MAX_FRAME_NUMBER,
  type SpanBatchInput,
} from "@rnode/protocol";
import type { CompressionAlgorithm } from "./stream-compressor.ts";

/** Why a channel accepts no more blocks. */
export type ChannelFullReason = "compressor-full" | "too-many-rlp-bytes" | "max-frame-index";

export type ChannelOutErrorCode = "channel-out/closed" | "channel-out/not-closed" | "channel-out/frame-too-small";

export interface ChannelOutOptions {
  /** 16 random bytes */
  readonly id: Uint8Array;
  readonly algorithm: CompressionAlgorithm;
  /** output size at which the channel is full: frames × (frame size − 23) */
  readonly targetOutputBytes: number;
  readonly chain: {
    readonly genesisTimeSec: number;
    readonly blockTimeSec: number;
    readonly chainId: bigint;
    readonly forkTimes: ForkTimes;
  };
}

/** A channel that a batcher fills with blocks and sends as frames. Calls must not overlap: await each. */
export interface ChannelOut {
  readonly id: Uint8Array;
  /** bytes of batches in the channel, before compression */
  readonly inputBytes: number;
  /** compressed bytes that can be put into frames now */
  readonly readyBytes: number;
  /** set when no more blocks are accepted; close the channel then */
  readonly full: ChannelFullReason | undefined;
  /**
   * Adds the next block.
   *
   * @returns false if the block was not added because the channel is full (see `full`). The channel may also be full after a block
   * that was added
   * @throws {CodedError} channel-out/closed; span-batch/block-mismatch, span-batch/unsupported-transaction: the block cannot
   * follow, and the channel is unchanged
   */
  addBlock(block: SpanBatchInput): Promise<boolean>;
  /** Makes everything added so far ready, at the cost of compression. */
  flush(): Promise<void>;
  /** Ends the channel: all data becomes ready, and no more blocks are accepted. */
  close(): Promise<void>;
  /**
   * The next frame, of at most `maxFrameBytes` bytes including its overhead. The last frame of a closed channel has `isLast`;
   * there are no frames after it.
   *
   * @throws {CodedError} channel-out/frame-too-small
   */
  nextFrame(maxFrameBytes: number): Frame;
  /** Frees the compressor's resources; required for a channel that is abandoned before it is closed. */
  destroy(): void;
}

/** The most bytes of batches in a channel that derivation reads, at the time of the block that is added. */
export function maxRlpBytesPerChannel(forkTimes: ForkTimes, timestampSec: number): number {
  return derivationFactsAt(forkTimes, timestampSec).maxRlpBytesPerChannel;
}

/** Cuts frames from the output of a channel. */
export class FrameCutter {
  readonly #id: Uint8Array;
  #number = 0;

  constructor(id: Uint8Array) {
    this.#id = id;
  }

  /** After frame number 65,534 only the last frame can follow. */
  get isExhausted(): boolean {
    return this.#number >= MAX_FRAME_NUMBER;
  }

  next(maxFrameBytes: number, isClosed: boolean, output: { length: number; take(length: number): Uint8Array }): Frame {
    const maxData = maxFrameBytes - FRAME_OVERHEAD_BYTES;
    if (maxData <= 0) throw new CodedError<ChannelOutErrorCode>("channel-out/frame-too-small", { maxFrameBytes });
    const isLast = isClosed && output.length <= maxData;
    const data = output.take(Math.min(maxData, output.length));
    return { channelId: this.#id, number: this.#number++, data, isLast };
  }
}
