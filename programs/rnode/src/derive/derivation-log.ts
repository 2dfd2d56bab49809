import type { ChannelEvent, DerivationObserver, ObservedBatch } from "@rnode/derivation";
import type { LogFields, Logger } from "@rnode/observe";
import { bytesToHex, type Clock, type Hex, LruCache } from "@rnode/primitives";
import type { Frame, L1BlockRef, L2BlockRef, RollupConfig } from "@rnode/protocol";
import { isLostChannel, l2BlocksOf } from "../common/dropped-data.ts";

export interface DerivationLogDeps {
  readonly config: Pick<RollupConfig, "genesis" | "blockTimeSec">;
  readonly clock: Clock;
  readonly log: Logger;
  /** called for every dropped item, even when there are too many for the log */
  readonly onDropped?: ((block: L1BlockRef, text: string, fields: LogFields) => void) | undefined;
}

/**
 * Each dropped item of the batcher is logged as a warning, up to this rate: a holder of the batcher's key can publish without
 * limit.
 */
const WARNINGS_A_MINUTE = 20;
const MINUTE_MS = 60_000;
/** How many channels have their transactions remembered, to name them in the lines about the channels' batches. */
const REMEMBERED_CHANNELS = 256;
const REMEMBERED_TRANSACTIONS = 16;

/**
 * Logs the fate of the batcher's data and of the logs of the rollup's L1 contracts: at `debug` every item of data, frame, channel
 * and batch, and as a warning every dropped item, with its transactions, the reason, and the data lost with it.
 * Data in L1 blocks up to the origin of the block where derivation started is read again after each start. Items that do not fit
 * there were in the chain before, or are only part of a channel, so they cause no warning.
 */
export class DerivationLog {
  private readonly deps: DerivationLogDeps;
  private readonly transactionOf = new WeakMap<Frame, Hex>();
  private readonly transactionsOf = new LruCache<Hex, Hex[]>(REMEMBERED_CHANNELS);
  private readAgainTo = 0;
  private minuteStartMs = Number.NEGATIVE_INFINITY;
  private warnings = 0;
  private suppressed = 0;

  readonly observer: DerivationObserver = {
    onL1Block: ({ number, hash }) => this.log.debug("reading L1 block", { l1Block: number, hash }),
    onData: ({ block, transactionHash, source, blobIndex, sizeBytes }) =>
      this.log.debug("batcher data", { l1Block: block.number, transaction: transactionHash, source, blobIndex, bytes: sizeBytes }),
    onDataDropped: ({ block, transactionHash, reason }) =>
      this.dropped(block, "batcher data dropped", { transaction: transactionHash, reason, lost: "all its frames" }),
    onLogSkipped: ({ block, contract, logIndex, reason }) =>
      this.dropped(block, "L1 log skipped", { contract, log: logIndex, reason, lost: "what the log says" }),
    onFrame: ({ block, transactionHash, frame }) => {
      this.remember(frame, transactionHash);
      this.log.debug("frame", { l1Block: block.number, transaction: transactionHash, ...fieldsOf(frame) });
    },
    onFrameDropped: ({ block, frame, reason }) =>
      this.dropped(block, "frame dropped", {
        transaction: this.transactionOf.get(frame),
        ...fieldsOf(frame),
        reason,
        lost: `${frame.data.length} bytes of the channel`,
      }),
    onChannel: ({ block, channelId, event, sizeBytes, detail }) =>
      this.channel(block, channelId, event, { bytes: sizeBytes, detail }),
    onBatch: ({ batch, verdict }) => {
      const reason = "reason" in verdict ? verdict.reason : undefined;
      const fields = { ...this.batchFields(batch), reason };
      if (verdict.kind !== "drop") {
        this.log.debug("batch", { verdict: verdict.kind, ...fields });
        return;
      }
      const { blockCount, transactionCount } = batch;
      const lost = `${blockCount} L2 block${blockCount === 1 ? "" : "s"} with ${transactionCount} transactions`;
      this.dropped(batch.l1InclusionBlock, "batch dropped", { ...fields, lost });
    },
  };

  constructor(deps: DerivationLogDeps) {
    this.deps = deps;
  }

  /** Derivation begins after `base`, and reads L1 from before its origin. */
  onReset(base: L2BlockRef): void {
    this.readAgainTo = base.l1Origin.number;
  }

  private get log(): Logger {
    return this.deps.log;
  }

  private channel(block: L1BlockRef, channelId: Hex, event: ChannelEvent, more: LogFields): void {
    if (!isLostChannel(event)) {
      this.log.debug("channel", { l1Block: block.number, channel: channelId, event, ...more });
      return;
    }
    const transactions = this.carriersOf(channelId);
    const lost = "its batches that were not read yet";
    this.dropped(block, "channel dropped", { channel: channelId, reason: event, ...more, transactions, lost });
  }

  private batchFields({ type, channelId, timestamp, blockCount, l1InclusionBlock, epochNumber }: ObservedBatch): LogFields {
    return {
      l1Block: l1InclusionBlock.number,
      type,
      blocks: l2BlocksOf(this.deps.config, timestamp, blockCount),
      epoch: epochNumber,
      channel: channelId,
      transactions: channelId === undefined ? undefined : this.carriersOf(channelId),
    };
  }

  /** The transactions whose frames made up the channel. */
  private carriersOf(channelId: Hex): string | undefined {
    return this.transactionsOf.get(channelId)?.join(" ");
  }

  private remember(frame: Frame, transactionHash: Hex): void {
    this.transactionOf.set(frame, transactionHash);
    const channelId = bytesToHex(frame.channelId);
    const known = this.transactionsOf.get(channelId) ?? [];
    if (known.length < REMEMBERED_TRANSACTIONS && !known.includes(transactionHash)) known.push(transactionHash);
    this.transactionsOf.set(channelId, known);
  }

  private dropped(block: L1BlockRef, text: string, fields: LogFields): void {
    const all = { l1Block: block.number, ...fields };
    if (block.number <= this.readAgainTo) {
      this.log.debug(text, all);
      return;
    }
    this.deps.onDropped?.(block, text, fields);
    const nowMs = this.deps.clock.monotonicMs();
    if (nowMs - this.minuteStartMs >= MINUTE_MS) {
      if (this.suppressed > 0)
        this.log.warn("further drops were not logged: --log.level=debug shows all", { count: this.suppressed });
      this.minuteStartMs = nowMs;
      this.warnings = this.suppressed = 0;
    }
    if (this.warnings < WARNINGS_A_MINUTE) {
      this.warnings++;
      this.log.warn(text, all);
    } else {
      this.suppressed++;
      this.log.debug(text, all);
    }
  }
}

const fieldsOf = ({ channelId, number, data, isLast }: Frame): LogFields => ({
  channel: bytesToHex(channelId),
  frame: number,
  bytes: data.length,
  isLast,
});
