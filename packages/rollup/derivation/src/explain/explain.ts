import { bytesToHex, type Hex, keccak256 } from "@rnode/primitives";
import type { Frame, L1BlockRef, L2BlockRef, RollupConfig, SystemConfig } from "@rnode/protocol";
import { checkTime, checkTransactions } from "../batches/batch-checks.ts";
import type { BlockBatch, ReadBatch } from "../batches/read-batch.ts";
import { ChannelReader } from "../channels/channel-reader.ts";
import { ChannelStage } from "../channels/channel-stage.ts";
import { FrameQueue } from "../channels/frame-queue.ts";
import type { RawChannel } from "../channels/raw-channel.ts";
import type { BatcherData } from "../l1/l1-retrieval.ts";
import type { L1Position } from "../l1/l1-traversal.ts";
import type { Decompressor } from "../l1/providers.ts";
import { type ChannelEvent, type DerivationObserver, SILENT_OBSERVER } from "../observer.ts";
import { EXHAUSTED, type PipelineStage, type Pull, type Source } from "../pull.ts";
import { type DerivationRules, derivationRules } from "../rules.ts";

interface ExplainedBlock {
  readonly number: number;
  /** seconds */
  readonly timestamp: number;
  readonly epochNum: number;
  readonly txHashes: readonly Hex[];
}

export interface ExplainedBatch {
  readonly type: "singular" | "span";
  /** `drop`: no chain can contain it; `undecided`: the rest of the rules needs the L2 chain, or L1 blocks that were not given */
  readonly verdict: "drop" | "undecided";
  readonly reason: string;
  readonly l1Block: number;
  readonly blocks: readonly ExplainedBlock[];
}

export interface ExplainedChannel {
  readonly id: Hex;
  /** `undefined`: the channel was incomplete, or its first byte is not a known compression */
  compression: "zlib" | "brotli" | undefined;
  /** compressed */
  bytes: number;
  /** its events, in order, with the L1 blocks */
  readonly events: { readonly l1Block: number; readonly event: ChannelEvent; readonly detail?: string | undefined }[];
  readonly batches: ExplainedBatch[];
}

export interface ExplainedFrame {
  readonly l1Block: number;
  readonly frame: Frame;
  /** `undefined`: it was added to its channel */
  dropped: string | undefined;
}

export interface ExplainedData {
  readonly l1Block: number;
  readonly transactionHash: Hex;
  readonly frames: ExplainedFrame[];
  /** why it contains no frames */
  dropped: string | undefined;
}

const NEEDS_CHAIN = "the remaining rules need the L2 chain";
const ZLIB_METHODS: readonly number[] = [8, 15];
/** The stages up to the channel reader do not look at the safe head. */
const NO_HEAD: L2BlockRef = {
  hash: `0x${"00".repeat(32)}`,
  parentHash: `0x${"00".repeat(32)}`,
  number: 0,
  timestamp: 0,
  l1Origin: { hash: `0x${"00".repeat(32)}`, number: 0 },
  sequenceNumber: 0,
};

/**
 * Explains the results of batcher data without an L2 chain: frames and channels by all rules, batches by the rules that depend
 * only on their content and the L1 blocks. It runs derivation's stages.
 */
export class Explainer {
  readonly data: ExplainedData[] = [];
  /** by id, in the order in which they were first seen */
  readonly channels = new Map<Hex, ExplainedChannel>();
  readonly #config: RollupConfig;
  readonly #l1Blocks = new Map<number, L1BlockRef>();
  readonly #frames = new Map<Frame, ExplainedFrame>();
  readonly #position: { origin: L1BlockRef; rules: DerivationRules; readonly systemConfig: SystemConfig };
  readonly #stages: readonly PipelineStage<unknown>[];
  readonly #reader: Source<ReadBatch>;
  #items: BatcherData[] = [];

  constructor(config: RollupConfig, decompressor: Decompressor) {
    this.#config = config;
    const origin: L1BlockRef = { ...config.genesis.l1, parentHash: NO_HEAD.hash, timestamp: 0 };
    this.#position = { origin, rules: derivationRules(config, 0), systemConfig: config.genesis.systemConfig };
    const position: L1Position = this.#position;
    const observer = this.#observer();
    const items: Source<BatcherData> = {
      next: async () => {
        const value = this.#items.shift();
        return value === undefined ? EXHAUSTED : { kind: "value", value };
      },
    };
    const frames = new FrameQueue(position, items, observer);
    const channels = new ChannelStage(position, frames, observer);
    const reader = new ChannelReader(config, position, this.#noting(channels), decompressor, observer);
    this.#stages = [frames, channels, reader];
    this.#reader = reader;
  }

  /** Adds data that cannot contain frames. */
  refuse(l1Block: number, transactionHash: Hex, reason: string): void {
    this.data.push({ l1Block, transactionHash, frames: [], dropped: reason });
  }

  /** Reads the next L1 block. @param items the batcher's calldata and decoded blobs, in order */
  async read(block: L1BlockRef, items: readonly BatcherData[]): Promise<void> {
    const rules = derivationRules(this.#config, block.timestamp);
    const becomesStrict = rules.hasStrictOrder && !this.#position.rules.hasStrictOrder;
    this.#position.origin = block;
    this.#position.rules = rules;
    this.#l1Blocks.set(block.number, block);
    if (becomesStrict) for (const stage of this.#stages) stage.activateStrictOrder();
    this.#items = [...items];
    for (const { transactionHash } of items) {
      this.data.push({ l1Block: block.number, transactionHash, frames: [], dropped: undefined });
    }
    for (;;) {
      const pulled: Pull<ReadBatch> = await this.#reader.next(NO_HEAD);
      if (pulled.kind === "exhausted") return;
      if (pulled.kind === "value") this.#channel(pulled.value.channelId).batches.push(this.#judged(pulled.value, block));
    }
  }

  #channel(id: Hex): ExplainedChannel {
    let channel = this.channels.get(id);
    if (channel === undefined) {
      channel = { id, compression: undefined, bytes: 0, events: [], batches: [] };
      this.channels.set(id, channel);
    }
    return channel;
  }

  /** Passes channels on, and notes how they are compressed. */
  #noting(source: Source<RawChannel>): Source<RawChannel> {
    return {
      next: async (head) => {
        const pulled = await source.next(head);
        if (pulled.kind !== "value") return pulled;
        const { id, content } = pulled.value;
        const [first] = content;
        const channel = this.#channel(id);
        channel.bytes = content.length;
        if (first !== undefined)
          channel.compression = ZLIB_METHODS.includes(first & 0x0f) ? "zlib" : first === 1 ? "brotli" : undefined;
        return pulled;
      },
    };
  }

  #observer(): DerivationObserver {
    const dataOf = (l1Block: number, transactionHash: Hex): ExplainedData | undefined =>
      this.data.findLast((data) => data.l1Block === l1Block && data.transactionHash === transactionHash);
    return {
      ...SILENT_OBSERVER,
      onDataDropped: ({ block, transactionHash, reason }) => {
        const data = dataOf(block.number, transactionHash);
        if (data !== undefined) data.dropped = reason;
      },
      onFrame: ({ block, transactionHash, frame }) => {
        const explained: ExplainedFrame = { l1Block: block.number, frame, dropped: undefined };
        this.#frames.set(frame, explained);
        this.#channel(bytesToHex(frame.channelId));
        dataOf(block.number, transactionHash)?.frames.push(explained);
      },
      onFrameDropped: ({ frame, reason }) => {
        const explained = this.#frames.get(frame);
        if (explained !== undefined) explained.dropped = reason;
      },
      onChannel: ({ block, channelId, event, detail }) =>
        this.#channel(channelId).events.push({ l1Block: block.number, event, detail }),
      onBatch: ({ batch, verdict }) => {
        if (batch.channelId === undefined || verdict.kind !== "drop") return;
        const { timestamp, epochNumber, l1InclusionBlock } = batch;
        const blocks = [{ number: this.#numberAt(timestamp), timestamp, epochNum: epochNumber, txHashes: [] }];
        this.#channel(batch.channelId).batches.push({
          type: "span",
          verdict: "drop",
          reason: verdict.reason,
          l1Block: l1InclusionBlock.number,
          blocks,
        });
      },
    };
  }

  #judged(read: ReadBatch, inclusion: L1BlockRef): ExplainedBatch {
    const explained = (batches: readonly Omit<BlockBatch, "parentHash">[], fault: string | undefined): ExplainedBatch => ({
      type: read.kind,
      verdict: fault === undefined ? "undecided" : "drop",
      reason: fault ?? NEEDS_CHAIN,
      l1Block: inclusion.number,
      blocks: batches.map(({ timestamp, epoch, transactions }) => ({
        number: this.#numberAt(timestamp),
        timestamp,
        epochNum: epoch.number,
        txHashes: transactions.map((transaction) => bytesToHex(keccak256(transaction))),
      })),
    });
    if (read.kind === "singular") {
      const { batch } = read;
      const epoch = this.#l1Blocks.get(batch.epoch.number);
      const fault =
        this.#lateness(batch.epoch.number, inclusion) ??
        (epoch !== undefined && epoch.hash !== batch.epoch.hash ? "epoch-hash-mismatch" : this.#blockFault(batch, epoch));
      return explained([batch], fault);
    }
    const { span, l1OriginCheck } = read;
    const blocks = Array.from(span.blocks(), ({ timestamp, epochNumber, transactions }) => ({
      timestamp,
      epoch: { number: epochNumber, hash: NO_HEAD.hash },
      transactions,
    }));
    const last = this.#l1Blocks.get(span.lastEpochNumber);
    let fault = this.#lateness(span.firstEpochNumber, inclusion);
    if (last !== undefined && !last.hash.startsWith(l1OriginCheck)) fault ??= "span-origin-mismatch";
    for (const block of blocks) fault ??= this.#blockFault(block, this.#l1Blocks.get(block.epoch.number));
    return explained(blocks, fault);
  }

  #lateness(epochNumber: number, inclusion: L1BlockRef): string | undefined {
    return epochNumber + this.#config.seqWindowSize < inclusion.number ? "included-too-late" : undefined;
  }

  #blockFault(block: Pick<BlockBatch, "timestamp" | "transactions">, epoch: L1BlockRef | undefined): string | undefined {
    const inTime = epoch && checkTime(this.#config, block, epoch, undefined, true);
    const verdict = inTime ?? checkTransactions(this.#config, block.timestamp, block.transactions);
    return verdict?.kind === "drop" ? verdict.reason : undefined;
  }

  #numberAt(timestampSec: number): number {
    const { genesis, blockTimeSec } = this.#config;
    return genesis.l2.number + Math.floor((timestampSec - genesis.l2TimeSec) / blockTimeSec);
  }
}
