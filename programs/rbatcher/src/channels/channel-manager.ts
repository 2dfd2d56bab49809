import type { ChannelOut } from "@rnode/compression";
import { type BlockId, type DaBytes, encodeBatcherData, type Frame, type L2BlockRef, sumDaBytes } from "@rnode/protocol";
import { BatcherError } from "../batcher-error.ts";
import type { BatcherBlock } from "./batcher-block.ts";
import type { ChannelConfig } from "./channel-config.ts";
import { type ChannelCloseReason, PendingChannel } from "./pending-channel.ts";

/** One L1 transaction to be sent. */
export interface TxData {
  /** ascending in the order in which the transactions must be included */
  readonly id: number;
  readonly channelId: string;
  readonly frameNumbers: readonly number[];
  readonly carrier: ChannelConfig["carrier"];
  /** version byte ‖ frame: one for the calldata, or one for each blob */
  readonly data: readonly Uint8Array[];
}

/** Why the batcher's blocks no longer match the chain: it must discard them and start again from the safe head. */
export type BatcherResetReason =
  | "l2-reorg"
  | "safe-head-went-back"
  | "safe-head-overtook"
  | "published-but-not-derived"
  | "channel-timed-out"
  | "transaction-failed-out-of-order"
  | "transaction-abandoned"
  | "nonce-consumed";

export type ManagerVerdict = { readonly kind: "ok" } | { readonly kind: "reset"; readonly reason: BatcherResetReason };

const OK: ManagerVerdict = { kind: "ok" };
const reset = (reason: BatcherResetReason): ManagerVerdict => ({ kind: "reset", reason });

/** Both chains at one moment, as the rollup node sees them. */
export interface ChainView {
  readonly safeL2: BlockId;
  readonly unsafeL2: BlockId;
  /** number of the L1 block up to which the node has derived */
  readonly currentL1: number;
  readonly l1Head: number;
}

export interface ChannelEvents {
  opened?(channel: { readonly id: string }): void;
  closed?(channel: PendingChannel, reason: ChannelCloseReason): void;
  confirmed?(channel: PendingChannel): void;
}

export interface ChannelManagerDeps {
  /** an empty channel with a fresh random id */
  readonly createChannelOut: (config: ChannelConfig) => ChannelOut;
  readonly events?: ChannelEvents;
}

/** The derivation of an L1 block may still be in progress one block later. */
const DERIVATION_SLACK_L1_BLOCKS = 2;

/**
 * Turns L2 blocks into the data of L1 transactions and tracks the transactions' outcome. Holds every block from the safe head on.
 * Uses no clock and does no I/O; calls must not overlap.
 */
export class ChannelManager {
  #config: ChannelConfig;
  readonly #deps: ChannelManagerDeps;
  /** contiguous; the first one follows `#base` */
  #blocks: BatcherBlock[] = [];
  #base: BlockId;
  /** index in `#blocks` of the first block that is not in a channel */
  #cursor = 0;
  #channels: PendingChannel[] = [];
  /** the last of `#channels` while it accepts blocks */
  #open: PendingChannel | undefined;
  /**
   * L1 block from which the duration of the next channel counts: the head when the last channel was closed, so that an L1 origin far behind the
   * head does not close each channel at once. After a start, the origin of the safe head.
   */
  #durationFrom: number;
  readonly #inFlight = new Map<number, { readonly channel: PendingChannel; readonly frames: readonly Frame[] }>();
  #nextTxId = 0;
  /** id of the newest transaction that was confirmed since the last reset */
  #newestConfirmedTxId = -1;
  #flushRequested = false;

  constructor(config: ChannelConfig, deps: ChannelManagerDeps, safeL2: L2BlockRef) {
    this.#config = config;
    this.#deps = deps;
    this.#base = { hash: safeL2.hash, number: safeL2.number };
    this.#durationFrom = safeL2.l1Origin.number;
  }

  /** The newest block; the next one must be its child. */
  get tip(): BlockId {
    const last = this.#blocks.at(-1);
    return last === undefined ? this.#base : last.ref;
  }
  get newestBlock(): BatcherBlock | undefined {
    return this.#blocks.at(-1);
  }
  get blockCount(): number {
    return this.#blocks.length;
  }
  /** Number of blocks that are not in any transaction yet. */
  get unsubmittedBlockCount(): number {
    const waiting = this.#channels.filter((channel) => !channel.isTouched);
    return waiting.reduce((sum, channel) => sum + channel.blockCount, this.#blocks.length - this.#cursor);
  }
  /** Bytes of the transactions of blocks that are in no channel, or in one that is not being sent yet. */
  get unsubmittedBytes(): number {
    let bytes = 0;
    for (let i = this.#cursor; i < this.#blocks.length; i++) bytes += this.#blocks[i]!.sizeBytes;
    for (const channel of this.#channels) if (!channel.isTouched) bytes += channel.sizeBytes;
    return bytes;
  }
  get inFlightCount(): number {
    return this.#inFlight.size;
  }

  /** Frees the compressors of its channels. */
  destroy(): void {
    for (const channel of this.#channels) channel.destroy();
    this.#channels = [];
    this.#open = undefined;
  }

  /** Adds the block after `tip`. */
  addBlock(block: BatcherBlock): ManagerVerdict {
    const { tip } = this;
    if (block.ref.number !== tip.number + 1 || block.ref.parentHash !== tip.hash) return reset("l2-reorg");
    this.#blocks.push(block);
    return OK;
  }

  /** Compares its blocks with the node's view and discards those that have become safe. */
  update(view: ChainView): ManagerVerdict {
    const { safeL2, unsafeL2 } = view;
    const { tip } = this;
    if (safeL2.number < this.#base.number) return reset("safe-head-went-back");
    if (unsafeL2.number < tip.number || (unsafeL2.number === tip.number && unsafeL2.hash !== tip.hash)) return reset("l2-reorg");
    if (safeL2.number > tip.number) return reset("safe-head-overtook");
    const safeHash =
      safeL2.number === this.#base.number ? this.#base.hash : this.#blocks[safeL2.number - this.#base.number - 1]!.ref.hash;
    if (safeHash !== safeL2.hash) return reset("l2-reorg");
    for (const channel of this.#channels) {
      const firstBlock = channel.firstBlockNumber;
      const lastBlock = channel.lastBlock?.ref.number;
      if (firstBlock === undefined || lastBlock === undefined) continue;
      // Blocks became safe through data that is not ours: sending them would repeat them.
      if (firstBlock <= safeL2.number && !channel.isFullySubmitted) return reset("safe-head-overtook");
      if (lastBlock <= safeL2.number) continue;
      if (channel.isTimedOut(view.l1Head)) return reset("channel-timed-out");
      const inclusion = channel.inclusionRange;
      if (channel.isFullyConfirmed && inclusion !== undefined && view.currentL1 >= inclusion.last + DERIVATION_SLACK_L1_BLOCKS) {
        return reset("published-but-not-derived");
      }
    }
    if (this.#cursor < safeL2.number - this.#base.number) return reset("safe-head-overtook");
    this.#prune(safeL2);
    return OK;
  }

  #prune(safeL2: BlockId): void {
    const count = safeL2.number - this.#base.number;
    this.#blocks.splice(0, count);
    this.#cursor -= count;
    this.#base = { hash: safeL2.hash, number: safeL2.number };
    this.#channels = this.#channels.filter((channel) => !this.#isDone(channel));
  }

  #isDone(channel: PendingChannel): boolean {
    const { lastBlock } = channel;
    return lastBlock !== undefined && lastBlock.ref.number <= this.#base.number && channel.isFullyConfirmed;
  }

  /** The first block that is not, or not entirely, in a transaction. */
  get nextToPublish(): BatcherBlock | undefined {
    const number = this.#channels.find((channel) => !channel.isFullySubmitted)?.firstBlockNumber;
    const index = number === undefined ? this.#cursor : Math.max(0, number - this.#base.number - 1);
    return this.#blocks[Math.min(index, this.#cursor)];
  }
  get channelCount(): number {
    return this.#channels.length;
  }
  /** compressed bytes of the open channel that could be put into frames now */
  get openChannelReadyBytes(): number {
    return this.#open?.readyBytes ?? 0;
  }
  /** What blocks take on L1 that are not in any transaction. */
  get unsubmittedDaBytes(): DaBytes {
    return this.#daBytesWith(this.#channels.filter(({ isTouched }) => !isTouched));
  }
  /** What blocks take on L1 that are not safe, including those on their way. Spec: docs/protocol/05-services.md#throttling */
  get unsafeDaBytes(): DaBytes {
    return this.#daBytesWith(this.#channels);
  }

  #daBytesWith(channels: readonly PendingChannel[]): DaBytes {
    const inNoChannel = this.#blocks.slice(this.#cursor);
    return sumDaBytes([...inNoChannel, ...channels].map(({ daBytes }) => daBytes));
  }

  /** The next `nextTxData` closes the open channel, with every block that is available by then. */
  requestFlush(): void {
    this.#flushRequested = true;
  }

  /**
   * The data of the next transaction; undefined if there is nothing to send now. It counts as pending until `confirm` or `fail`.
   *
   * @param choose called before the first transaction of a channel; if the result differs from the channel's config, the channel
   * is rebuilt
   * @throws {BatcherError} batcher/block-too-large; {CodedError} span-batch/*: a block that cannot be published
   */
  async nextTxData(l1HeadNumber: number, choose?: () => Promise<ChannelConfig>): Promise<TxData | undefined> {
    const channel = await this.#readyChannel(l1HeadNumber);
    if (channel === undefined || channel.isTouched || choose === undefined) return this.#takeTxData(channel);
    this.#config = await choose();
    if (channel.config === this.#config) return this.#takeTxData(channel);
    this.#abandonFrom(channel);
    return this.#takeTxData(await this.#readyChannel(l1HeadNumber));
  }

  async #readyChannel(l1HeadNumber: number): Promise<PendingChannel | undefined> {
    const find = (): PendingChannel | undefined => this.#channels.find(({ hasTransactionReady }) => hasTransactionReady);
    const waiting = find();
    if (waiting !== undefined) return waiting;
    await this.#fillChannels(l1HeadNumber);
    return find();
  }

  #takeTxData(channel: PendingChannel | undefined): TxData | undefined {
    if (channel === undefined) return undefined;
    const frames = channel.takeUnsent();
    const id = this.#nextTxId++;
    this.#inFlight.set(id, { channel, frames });
    return {
      id,
      channelId: channel.id,
      frameNumbers: frames.map(({ number }) => number),
      carrier: channel.config.carrier,
      data: frames.map((frame) => encodeBatcherData([frame])),
    };
  }

  /** The transaction was not sent after all: its frames are the next ones again. */
  withdraw({ id }: TxData): void {
    const tx = this.#inFlight.get(id);
    if (tx === undefined) return;
    this.#inFlight.delete(id);
    tx.channel.putBack(tx.frames);
  }

  /** The blocks of this channel, of which nothing was sent, and of those after it are put into channels again. */
  #abandonFrom(first: PendingChannel): void {
    const at = this.#channels.indexOf(first);
    const abandoned = this.#channels.splice(at);
    if (abandoned.some(({ closeReason }) => closeReason === "flushed")) this.#flushRequested = true;
    for (const channel of abandoned) channel.destroy();
    this.#open = undefined;
    const firstBlock = first.firstBlockNumber;
    if (firstBlock !== undefined) this.#cursor = Math.max(0, firstBlock - this.#base.number - 1);
    this.#durationFrom = first.durationFrom;
  }

  /** Adds blocks to channels until one of them has frames to send or no blocks are left. */
  async #fillChannels(l1HeadNumber: number): Promise<void> {
    for (;;) {
      if (this.#open === undefined) {
        if (this.#cursor >= this.#blocks.length) {
          this.#flushRequested = false;
          return;
        }
        this.#openChannel();
      }
      const channel = this.#open!;
      await this.#addBlocks(channel);
      channel.checkDeadline(l1HeadNumber);
      const reason = channel.closeReason ?? (this.#flushRequested && channel.blockCount > 0 ? "flushed" : undefined);
      if (reason === undefined) return;
      await this.#closeChannel(channel, reason);
      this.#durationFrom = l1HeadNumber;
      if (this.#cursor >= this.#blocks.length) this.#flushRequested = false;
      if (channel.hasTransactionReady) return;
    }
  }

  async #addBlocks(channel: PendingChannel): Promise<void> {
    while (channel.closeReason === undefined && this.#cursor < this.#blocks.length) {
      const block = this.#blocks[this.#cursor]!;
      if (await channel.add(block)) {
        this.#cursor++;
      } else if (channel.blockCount === 0) {
        throw new BatcherError("batcher/block-too-large", { number: block.ref.number, sizeBytes: block.sizeBytes });
      }
    }
  }

  #openChannel(): void {
    const channel = new PendingChannel(this.#deps.createChannelOut(this.#config), this.#config, this.#durationFrom);
    this.#channels.push(channel);
    this.#open = channel;
    this.#deps.events?.opened?.(channel);
  }

  async #closeChannel(channel: PendingChannel, reason: ChannelCloseReason): Promise<void> {
    await channel.close(reason);
    this.#open = undefined;
    this.#deps.events?.closed?.(channel, reason);
  }

  /** The transaction is in an L1 block with enough confirmations. */
  confirm(txId: number, inclusionBlock: number): ManagerVerdict {
    const tx = this.#inFlight.get(txId);
    if (tx === undefined) return OK; // from before a reset
    this.#inFlight.delete(txId);
    this.#newestConfirmedTxId = Math.max(this.#newestConfirmedTxId, txId);
    tx.channel.confirm(tx.frames, inclusionBlock);
    if (!tx.channel.isFullyConfirmed) return OK;
    this.#deps.events?.confirmed?.(tx.channel);
    if (this.#isDone(tx.channel)) this.#channels = this.#channels.filter((channel) => channel !== tx.channel);
    return tx.channel.isTimedOut(inclusionBlock) ? reset("channel-timed-out") : OK;
  }

  /** The transaction will never be included: its frames are sent again, before all others. */
  fail(txId: number): ManagerVerdict {
    const tx = this.#inFlight.get(txId);
    if (tx === undefined) return OK;
    this.#inFlight.delete(txId);
    const { lastBlock } = tx.channel;
    if (lastBlock !== undefined && lastBlock.ref.number <= this.#base.number) {
      tx.channel.destroy(); // already derived, whatever became of this transaction
      this.#channels = this.#channels.filter((channel) => channel !== tx.channel);
      return OK;
    }
    // Later frames have been or may be included before these ones, and from Holocene on derivation drops frames that are out of
    // order.
    if (this.#newestConfirmedTxId > txId || [...this.#inFlight.keys()].some((id) => id > txId)) {
      return reset("transaction-failed-out-of-order");
    }
    tx.channel.putBack(tx.frames);
    return OK;
  }

  /**
   * Accepts no more blocks. Channels of which nothing was sent are abandoned (a restart builds them again); a partly sent channel
   * is closed, so that the rest of its frames can be sent.
   */
  async terminate(): Promise<void> {
    if (this.#open?.isTouched) await this.#closeChannel(this.#open, "terminated");
    this.#channels = this.#channels.filter((channel) => {
      if (!channel.isTouched) channel.destroy();
      return channel.isTouched;
    });
    this.#open = undefined;
    this.#cursor = this.#blocks.length;
  }
}
