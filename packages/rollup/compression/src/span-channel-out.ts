import { CodedError, concatBytes } from "@rnode/primitives";
import { encodeChannelBatch, type Frame, SpanBatchBuilder, type SpanBatchInput } from "@rnode/protocol";
import {
  type ChannelFullReason,
  type ChannelOut,
  type ChannelOutErrorCode,
  type ChannelOutOptions,
  FrameCutter,
  maxRlpBytesPerChannel,
} from "./channel-out.ts";
import { compressChannel } from "./stream-compressor.ts";

export interface SpanChannelOutOptions extends ChannelOutOptions {
  /** 0: one span batch per channel */
  readonly maxBlocksPerSpanBatch?: number | undefined;
}

/**
 * Span batches: their columns change with each block, so the channel is compressed as a whole, and nothing is ready until it is
 * full or closed. Spec: docs/protocol/05-services.md#channel-building
 */
export function createSpanChannelOut(options: SpanChannelOutOptions): ChannelOut {
  return new SpanChannelOut(options);
}

class SpanChannelOut implements ChannelOut {
  readonly id: Uint8Array;
  readonly #options: SpanChannelOutOptions;
  readonly #frames: FrameCutter;
  /** encoded span batches that have reached their number of blocks */
  #sealed: Uint8Array = new Uint8Array();
  #sealedBlocks = 0;
  #builder: SpanBatchBuilder;
  #compressed: Uint8Array = new Uint8Array();
  /** length of the input that was compressed into `#compressed` */
  #compressedInputBytes = 0;
  #output: Uint8Array = new Uint8Array();
  #full: ChannelFullReason | undefined;
  #closed = false;

  constructor(options: SpanChannelOutOptions) {
    this.id = options.id;
    this.#options = options;
    this.#frames = new FrameCutter(options.id);
    this.#builder = new SpanBatchBuilder(options.chain);
  }

  get inputBytes(): number {
    if (this.#builder.blockCount === 0) return this.#sealed.length;
    const batchBytes = 1 + this.#builder.encodedBytes;
    return this.#sealed.length + rlpHeaderBytes(batchBytes) + batchBytes;
  }

  get readyBytes(): number {
    return this.#output.length;
  }

  get full(): ChannelFullReason | undefined {
    return this.#full;
  }

  async addBlock(block: SpanBatchInput): Promise<boolean> {
    if (this.#closed) throw new CodedError<ChannelOutErrorCode>("channel-out/closed");
    if (this.#full !== undefined) return false;
    this.#sealFullBatch();
    this.#builder.add(block);
    if (this.inputBytes > maxRlpBytesPerChannel(this.#options.chain.forkTimes, block.timestampSec)) {
      this.#builder.removeLast();
      this.#full = "too-many-rlp-bytes";
      return false;
    }
    const { targetOutputBytes } = this.#options;
    const growth = this.inputBytes - this.#compressedInputBytes;
    // PERF: the added bytes cannot compress to more than their own length, so most blocks need neither encoding nor compression.
    if (this.#compressed.length + growth < targetOutputBytes) return true;
    await this.#compress();
    if (this.#compressed.length < targetOutputBytes) return true;
    this.#full = "compressor-full";
    const takesBlock = this.#compressed.length === targetOutputBytes || this.#sealedBlocks + this.#builder.blockCount === 1;
    if (!takesBlock) {
      this.#builder.removeLast();
      await this.#compress();
    }
    this.#output = this.#compressed;
    return takesBlock;
  }

  #sealFullBatch(): void {
    const max = this.#options.maxBlocksPerSpanBatch ?? 0;
    if (max === 0 || this.#builder.blockCount < max) return;
    this.#sealed = this.#input();
    this.#sealedBlocks += this.#builder.blockCount;
    this.#builder = new SpanBatchBuilder(this.#options.chain);
  }

  #input(): Uint8Array {
    return this.#builder.blockCount === 0 ? this.#sealed : concatBytes(this.#sealed, encodeChannelBatch(this.#builder.build()));
  }

  async #compress(): Promise<void> {
    const input = this.#input();
    this.#compressed = await compressChannel(this.#options.algorithm, input);
    this.#compressedInputBytes = input.length;
  }

  /** Does nothing: a span batch is never ready in part. */
  async flush(): Promise<void> {}

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    if (this.#full === "compressor-full") return;
    if (this.#compressedInputBytes !== this.inputBytes) await this.#compress();
    this.#output = this.#compressed;
  }

  nextFrame(maxFrameBytes: number): Frame {
    const output = this.#output;
    return this.#frames.next(maxFrameBytes, this.#closed, {
      length: output.length,
      take: (length) => {
        this.#output = output.subarray(length);
        return output.subarray(0, length);
      },
    });
  }

  destroy(): void {}
}

/** For an RLP string longer than one byte. */
function rlpHeaderBytes(length: number): number {
  if (length < 56) return 1;
  let bytes = 1;
  for (let rest = length; rest > 0; rest = Math.floor(rest / 256)) bytes++;
  return bytes;
}
