import { bytesToHex, type Hex, isCodedError, readRlpSpan } from "@rnode/primitives";
import {
  type Batch,
  CHANNEL_VERSION_BROTLI,
  decodeBatch,
  expandSpanBatch,
  type L2BlockRef,
  type RollupConfig,
  type SpanBatch,
} from "@rnode/protocol";
import { drop } from "../batches/batch-verdict.ts";
import type { ReadBatch } from "../batches/read-batch.ts";
import type { L1Position } from "../l1/l1-traversal.ts";
import type { Decompressor } from "../l1/providers.ts";
import type { ChannelEvent, DerivationObserver, ObservedBatch } from "../observer.ts";
import { AGAIN, type PipelineStage, type Pull, type Source } from "../pull.ts";
import type { RawChannel } from "./raw-channel.ts";

const ZLIB_METHODS: readonly number[] = [8, 15];

/** The content of a channel while its batches are being read. */
interface OpenChannel {
  readonly id: Hex;
  readonly bytes: Uint8Array;
  /** whether nothing was lost to a fault or to the size limit */
  readonly complete: boolean;
  position: number;
  /** decoded to see which parent it names, but not taken yet */
  next?: NextInChannel | undefined;
}

interface NextInChannel {
  readonly batch: Batch;
  readonly end: number;
}

/** @returns a text: why there is no further batch */
function decodeNext({ bytes, position, next }: OpenChannel): NextInChannel | string {
  if (next !== undefined) return next;
  try {
    const { isList, dataStart, end } = readRlpSpan(bytes, position);
    return isList ? "a list where a batch should be" : { batch: decodeBatch(bytes.subarray(dataStart, end)), end };
  } catch (error) {
    if (!isCodedError(error)) throw error;
    return error.code;
  }
}

/** Reads the batches of channels. Spec: docs/protocol/02-derivation.md#channel-reader */
export class ChannelReader implements PipelineStage<ReadBatch> {
  readonly #config: RollupConfig;
  readonly #position: L1Position;
  readonly #previous: Source<RawChannel>;
  readonly #decompressor: Decompressor;
  readonly #observer: DerivationObserver;
  #channel: OpenChannel | undefined;

  constructor(
    config: RollupConfig,
    position: L1Position,
    previous: Source<RawChannel>,
    decompressor: Decompressor,
    observer: DerivationObserver,
  ) {
    this.#config = config;
    this.#position = position;
    this.#previous = previous;
    this.#decompressor = decompressor;
    this.#observer = observer;
  }

  reset(): void {
    this.#channel = undefined;
  }

  /** Nothing is left by then: L1 moves on when the channel is read to its end. */
  activateStrictOrder(): void {}

  /** Drops the rest of the channel. */
  flush(): void {
    if (this.#channel !== undefined) this.#close(this.#channel, "flushed");
  }

  async next(l2SafeHead: L2BlockRef): Promise<Pull<ReadBatch>> {
    if (this.#channel === undefined) {
      const pulled = await this.#previous.next(l2SafeHead);
      if (pulled.kind !== "value") return pulled;
      this.#channel = this.#open(pulled.value);
    }
    return this.#channel === undefined ? AGAIN : this.#nextBatch(this.#channel);
  }

  #open({ id, content }: RawChannel): OpenChannel | undefined {
    const { rules } = this.#position;
    const first = content[0];
    const isZlib = first !== undefined && ZLIB_METHODS.includes(first & 0x0f);
    if (!isZlib && !(first === CHANNEL_VERSION_BROTLI && rules.allowsBrotli)) {
      const detail = first === undefined ? "empty" : `first byte ${first}`;
      this.#tell(id, "unknown-compression", content.length, detail);
      return undefined;
    }
    const { bytes, complete } = isZlib
      ? this.#decompressor.decompress("zlib", content, rules.maxRlpBytesPerChannel)
      : this.#decompressor.decompress("brotli", content.subarray(1), rules.maxRlpBytesPerChannel);
    return { id, bytes, complete, position: 0 };
  }

  get nextParentHash(): Hex | undefined {
    const channel = this.#channel;
    if (channel === undefined || channel.position >= channel.bytes.length) return undefined;
    const next = decodeNext(channel);
    if (typeof next === "string") return undefined;
    channel.next = next;
    return next.batch.kind === "span" ? undefined : bytesToHex(next.batch.parentHash);
  }

  #nextBatch(channel: OpenChannel): Pull<ReadBatch> {
    if (channel.position >= channel.bytes.length) {
      this.#close(channel, channel.complete ? "read" : "malformed", channel.complete ? undefined : "compressed data");
      return AGAIN;
    }
    const next = decodeNext(channel);
    if (typeof next === "string") {
      this.#close(channel, "malformed", next);
      return AGAIN;
    }
    const { batch, end } = next;
    channel.position = end;
    channel.next = undefined;
    return batch.kind === "span" ? this.#readSpan(channel, batch) : { kind: "value", value: this.#singular(channel, batch) };
  }

  #singular(channel: OpenChannel, batch: Exclude<Batch, SpanBatch>): ReadBatch {
    return {
      kind: "singular",
      channelId: channel.id,
      batch: {
        parentHash: bytesToHex(batch.parentHash),
        epoch: { hash: bytesToHex(batch.epochHash), number: Number(batch.epochNumber) },
        timestamp: Number(batch.timestamp),
        transactions: batch.transactions,
      },
    };
  }

  /** A span batch that cannot be read is skipped; the batches after it still count. */
  #readSpan(channel: OpenChannel, batch: SpanBatch): Pull<ReadBatch> {
    const { origin, rules } = this.#position;
    const { genesis, blockTimeSec, l2ChainId } = this.#config;
    const skipped: ObservedBatch = {
      type: "span",
      channelId: channel.id,
      l1InclusionBlock: origin,
      timestamp: genesis.l2TimeSec + Number(batch.relTimestamp),
      epochNumber: Number(batch.l1OriginNumber),
      blockCount: batch.originBits.length,
      transactionCount: batch.transactions.length,
      fromSpan: false,
    };
    if (!rules.allowsSpanBatches) {
      this.#observer.onBatch({ batch: skipped, verdict: drop("span-before-delta") });
      return AGAIN;
    }
    try {
      const span = expandSpanBatch(batch, { genesisTimeSec: genesis.l2TimeSec, blockTimeSec, chainId: l2ChainId });
      const { parentCheck, l1OriginCheck } = batch;
      const checks = { parentCheck: bytesToHex(parentCheck), l1OriginCheck: bytesToHex(l1OriginCheck) };
      return { kind: "value", value: { kind: "span", channelId: channel.id, span, ...checks } };
    } catch (error) {
      if (!isCodedError(error, "span-batch/bad-transaction")) throw error;
      this.#observer.onBatch({ batch: skipped, verdict: drop("malformed-transaction") });
      return AGAIN;
    }
  }

  #close(channel: OpenChannel, event: ChannelEvent, detail?: string): void {
    this.#channel = undefined;
    this.#tell(channel.id, event, channel.bytes.length, detail);
  }

  #tell(channelId: Hex, event: ChannelEvent, sizeBytes: number, detail?: string): void {
    const { origin: block } = this.#position;
    this.#observer.onChannel({ block, channelId, event, sizeBytes, ...(detail === undefined ? {} : { detail }) });
  }
}
