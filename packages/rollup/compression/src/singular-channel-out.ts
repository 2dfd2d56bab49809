import { CodedError } from "@rnode/primitives";
import { encodeChannelBatch, type Frame, type SpanBatchInput } from "@rnode/protocol";
import {
  type ChannelFullReason,
  type ChannelOut,
  type ChannelOutErrorCode,
  type ChannelOutOptions,
  FrameCutter,
  maxRlpBytesPerChannel,
} from "./channel-out.ts";
import { CLOSE_OVERHEAD_BYTES, StreamCompressor } from "./stream-compressor.ts";

/** How to decide that a channel of singular batches is full. Spec: docs/protocol/05-services.md#channel-building */
export type FullStrategy =
  /** a second compressor, flushed when the first might exceed the target, measures the real size */
  | { readonly kind: "shadow" }
  /** full once the input reaches target ÷ ratio */
  | { readonly kind: "ratio"; readonly approxComprRatio: number }
  /** no compression (zlib's stored blocks): full once the output reaches the target */
  | { readonly kind: "none" };

/** How many bytes of output may be pending before the first flush. */
const SAFE_COMPRESSION_OVERHEAD_BYTES = 51;

/** One batch per block, compressed as a stream: frames can be sent before the channel is full. */
export function createSingularChannelOut(options: ChannelOutOptions & { readonly strategy: FullStrategy }): ChannelOut {
  return new SingularChannelOut(options);
}

class SingularChannelOut implements ChannelOut {
  readonly id: Uint8Array;
  readonly #options: ChannelOutOptions & { readonly strategy: FullStrategy };
  readonly #frames: FrameCutter;
  readonly #compressor: StreamCompressor;
  readonly #shadow: StreamCompressor | undefined;
  #shadowBound = SAFE_COMPRESSION_OVERHEAD_BYTES;
  #inputBytes = 0;
  #outputBytesTaken = 0;
  #full: ChannelFullReason | undefined;
  #closed = false;

  constructor(options: ChannelOutOptions & { readonly strategy: FullStrategy }) {
    this.id = options.id;
    this.#options = options;
    this.#frames = new FrameCutter(options.id);
    this.#compressor = new StreamCompressor(options.algorithm, options.strategy.kind === "none" ? "none" : "best");
    if (options.strategy.kind === "shadow") this.#shadow = new StreamCompressor(options.algorithm);
  }

  get inputBytes(): number {
    return this.#inputBytes;
  }

  get readyBytes(): number {
    return this.#compressor.length;
  }

  get full(): ChannelFullReason | undefined {
    return this.#full ?? (this.#frames.isExhausted ? "max-frame-index" : undefined);
  }

  async addBlock(block: SpanBatchInput): Promise<boolean> {
    if (this.#closed) throw new CodedError<ChannelOutErrorCode>("channel-out/closed");
    if (this.full !== undefined) return false;
    const element = encodeChannelBatch({
      kind: "singular",
      parentHash: block.parentHash,
      epochNumber: BigInt(block.epochNumber),
      epochHash: block.epochHash,
      timestamp: BigInt(block.timestampSec),
      transactions: block.transactions,
    });
    if (this.#inputBytes + element.length > maxRlpBytesPerChannel(this.#options.chain.forkTimes, block.timestampSec)) {
      this.#full = "too-many-rlp-bytes";
      return false;
    }
    if (!(await this.#fits(element))) return false;
    await this.#compressor.write(element);
    this.#inputBytes += element.length;
    this.#updateFull();
    return true;
  }

  /** Tries the element in the shadow compressor before it is written to the real one. */
  async #fits(element: Uint8Array): Promise<boolean> {
    const shadow = this.#shadow;
    if (shadow === undefined) return true;
    await shadow.write(element);
    let bound = this.#shadowBound + element.length;
    if (bound > this.#options.targetOutputBytes) {
      // PERF: flushed only here, because flushing takes time and, if done often, compresses worse.
      await shadow.flush();
      bound = shadow.length + CLOSE_OVERHEAD_BYTES;
      if (bound > this.#options.targetOutputBytes) {
        this.#full = "compressor-full";
        // A block that does not even fit alone must be sent nevertheless.
        if (this.#inputBytes > 0) return false;
      }
    }
    this.#shadowBound = bound;
    return true;
  }

  #updateFull(): void {
    const { strategy, targetOutputBytes } = this.#options;
    const isFull =
      (strategy.kind === "ratio" && this.#inputBytes >= targetOutputBytes / strategy.approxComprRatio) ||
      (strategy.kind === "none" && Math.max(this.#inputBytes, this.#outputBytesTaken + this.readyBytes) >= targetOutputBytes);
    if (isFull) this.#full ??= "compressor-full";
  }

  async flush(): Promise<void> {
    if (!this.#closed) await this.#compressor.flush();
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#shadow?.destroy();
    await this.#compressor.close();
  }

  nextFrame(maxFrameBytes: number): Frame {
    const frame = this.#frames.next(maxFrameBytes, this.#closed, this.#compressor);
    this.#outputBytesTaken += frame.data.length;
    return frame;
  }

  destroy(): void {
    this.#shadow?.destroy();
    this.#compressor.destroy();
  }
}
