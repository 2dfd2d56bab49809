import type { ChannelOut } from "@rnode/compression";
import { bytesToHex, type Hex } from "@rnode/primitives";
import { type DaBytes, daBytes, FRAME_OVERHEAD_BYTES, type Frame, sumDaBytes } from "@rnode/protocol";
import type { BatcherBlock } from "./batcher-block.ts";
import type { ChannelConfig } from "./channel-config.ts";

/** Why a channel accepts no more blocks. */
export type ChannelCloseReason =
  | "compressor-full"
  | "too-many-rlp-bytes"
  | "max-frame-index"
  | "max-duration"
  | "channel-timeout-near"
  | "sequencing-window-near"
  | "flushed"
  | "terminated";

/** One channel, from its first block until all its frames are on L1. */
export class PendingChannel {
  readonly id: Hex;
  readonly #out: ChannelOut;
  readonly config: ChannelConfig;
  readonly durationFrom: number;
  #firstBlock: number | undefined;
  #lastBlock: BatcherBlock | undefined;
  #closeReason: ChannelCloseReason | undefined;
  #isClosed = false;
  #deadline: { readonly l1Block: number; readonly reason: ChannelCloseReason } | undefined;
  readonly #frames: Frame[] = [];
  /** numbers of the frames that are in no transaction, ascending */
  #unsent: number[] = [];
  #inFlightFrames = 0;
  readonly #inclusionBlocks = new Map<number, number>();
  #sizeBytes = 0;
  #estimatedBytes = daBytes(0);
  #blockCount = 0;

  /**
   * @param durationFrom number of the L1 block from which its duration counts
   */
  constructor(out: ChannelOut, config: ChannelConfig, durationFrom: number) {
    this.durationFrom = durationFrom;
    this.id = bytesToHex(out.id);
    this.#out = out;
    this.config = config;
    const { maxChannelDuration } = config;
    if (maxChannelDuration > 0) this.#limit(durationFrom + maxChannelDuration, "max-duration");
  }

  get blockCount(): number {
    return this.#blockCount;
  }
  /** bytes of the blocks' transactions */
  get sizeBytes(): number {
    return this.#sizeBytes;
  }
  /** DA bytes of the channel: an estimate from its blocks until the frames exist */
  get daBytes(): DaBytes {
    return this.#frames.length === 0 ? this.#estimatedBytes : daBytes(this.outputBytes);
  }
  get readyBytes(): number {
    return this.#out.readyBytes;
  }
  get inputBytes(): number {
    return this.#out.inputBytes;
  }
  /** bytes of the data of all frames that exist by now */
  get outputBytes(): number {
    return this.#frames.reduce((sum, frame) => sum + frame.data.length, 0);
  }
  get frameCount(): number {
    return this.#frames.length;
  }
  get closeReason(): ChannelCloseReason | undefined {
    return this.#closeReason;
  }
  get firstBlockNumber(): number | undefined {
    return this.#firstBlock;
  }
  get lastBlock(): BatcherBlock | undefined {
    return this.#lastBlock;
  }
  /** Whether the frames of the next transaction are ready: a full transaction, or the last frames. */
  get hasTransactionReady(): boolean {
    return this.#isClosed ? this.#unsent.length > 0 : this.#unsent.length >= this.config.framesPerTransaction;
  }
  get isTouched(): boolean {
    return this.#inFlightFrames > 0 || this.#inclusionBlocks.size > 0;
  }
  get isFullySubmitted(): boolean {
    return this.#closeReason !== undefined && this.#unsent.length === 0;
  }
  get isFullyConfirmed(): boolean {
    return this.isFullySubmitted && this.#inFlightFrames === 0;
  }
  /** L1 blocks of the first and the last included frame */
  get inclusionRange(): { readonly first: number; readonly last: number } | undefined {
    if (this.#inclusionBlocks.size === 0) return undefined;
    const blocks = [...this.#inclusionBlocks.values()];
    return { first: Math.min(...blocks), last: Math.max(...blocks) };
  }

  /** @returns false if the channel is full without this block @throws {CodedError} span-batch/* */
  async add(block: BatcherBlock): Promise<boolean> {
    const wasAdded = await this.#out.addBlock(block.input);
    if (wasAdded) {
      this.#firstBlock ??= block.ref.number;
      this.#lastBlock = block;
      this.#sizeBytes += block.sizeBytes;
      this.#estimatedBytes = sumDaBytes([this.#estimatedBytes, block.daBytes]);
      this.#blockCount++;
      const { seqWindowSize, subSafetyMargin } = this.config;
      this.#limit(block.ref.l1Origin.number + seqWindowSize - subSafetyMargin, "sequencing-window-near");
      this.#takeReadyFrames();
    }
    this.#closeReason ??= this.#out.full;
    return wasAdded;
  }

  /** Closes the channel if the L1 head has reached one of its deadlines. */
  checkDeadline(l1HeadNumber: number): void {
    if (this.#deadline !== undefined && l1HeadNumber >= this.#deadline.l1Block) this.#closeReason ??= this.#deadline.reason;
  }

  /** Accepts no more blocks; all frames become available. */
  async close(reason: ChannelCloseReason): Promise<void> {
    this.#closeReason ??= reason;
    await this.#out.close();
    this.#isClosed = true;
    while (this.#frames.at(-1)?.isLast !== true) this.#takeFrame();
  }

  /** Takes the frames of a transaction. */
  takeUnsent(): Frame[] {
    const numbers = this.#unsent.splice(0, this.config.framesPerTransaction);
    this.#inFlightFrames += numbers.length;
    return numbers.map((number) => this.#frames[number]!);
  }

  /** Puts back the frames of a transaction that will never be included, to be sent again. */
  putBack(frames: readonly Frame[]): void {
    this.#inFlightFrames -= frames.length;
    this.#unsent = [...this.#unsent, ...frames.map(({ number }) => number)].sort((a, b) => a - b);
  }

  confirm(frames: readonly Frame[], inclusionBlock: number): void {
    this.#inFlightFrames -= frames.length;
    for (const { number } of frames) this.#inclusionBlocks.set(number, inclusionBlock);
    const { channelTimeout, subSafetyMargin } = this.config;
    this.#limit(inclusionBlock + channelTimeout - subSafetyMargin, "channel-timeout-near");
  }

  /** Whether the channel has timed out in derivation, or will before its last frame can be included. */
  isTimedOut(l1HeadNumber: number): boolean {
    const range = this.inclusionRange;
    if (range === undefined) return false;
    const end = this.isFullyConfirmed ? range.last : Math.max(l1HeadNumber, range.last);
    return end - range.first >= this.config.channelTimeout;
  }

  destroy(): void {
    this.#out.destroy();
  }

  #limit(l1Block: number, reason: ChannelCloseReason): void {
    if (this.#deadline === undefined || l1Block < this.#deadline.l1Block) this.#deadline = { l1Block, reason };
  }

  #takeReadyFrames(): void {
    const { maxFrameBytes } = this.config;
    while (this.#out.full === undefined && this.#out.readyBytes + FRAME_OVERHEAD_BYTES >= maxFrameBytes) this.#takeFrame();
  }

  #takeFrame(): void {
    const frame = this.#out.nextFrame(this.config.maxFrameBytes);
    this.#frames.push(frame);
    this.#unsent.push(frame.number);
  }
}
