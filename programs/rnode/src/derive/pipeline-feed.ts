import type { BatchItem, DropItem, L1Row } from "@rnode/dashboard";
import type { DerivationObserver } from "@rnode/derivation";
import type { Feed, LogFields } from "@rnode/observe";
import { bytesToHex, type Clock, LruCache } from "@rnode/primitives";
import type { L1BlockRef, L2BlockRef, RollupConfig } from "@rnode/protocol";
import { l2BlocksOf } from "../common/dropped-data.ts";

export interface PipelineFeedDeps {
  readonly config: Pick<RollupConfig, "genesis" | "blockTimeSec">;
  readonly clock: Clock;
  readonly feed: Feed;
}

/** Items of each kind that a row lists; all are counted. */
const LISTED = 8;
/** Of several transactions that carried a channel, the first is shown. */
const HASH_LENGTH = 66;
/** L1 blocks whose rows can still change: a channel spans several. */
const OPEN_ROWS = 360;

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/** What derivation reads in each L1 block and what becomes of it, as rows of the dashboard. */
export class PipelineFeed {
  private readonly deps: PipelineFeedDeps;
  private readonly rows = new LruCache<number, Mutable<L1Row>>(OPEN_ROWS);
  private drops = 0;

  readonly observer: Partial<DerivationObserver> = {
    onL1Block: (block) => {
      this.rows.delete(block.number); // it is read again after a reset, and from the beginning
      this.change(block, () => {});
    },
    onData: ({ block, transactionHash, source, sizeBytes }) =>
      this.change(block, (row) => {
        row.dataCount++;
        row.dataBytes += sizeBytes;
        row.data = listed(row.data, { transaction: transactionHash, source, bytes: sizeBytes });
      }),
    onFrame: ({ block, frame: { channelId, number, data, isLast } }) =>
      this.change(block, (row) => {
        row.frameCount++;
        row.frames = listed(row.frames, { channel: bytesToHex(channelId), number, bytes: data.length, isLast });
      }),
    onChannel: ({ block, channelId, event, sizeBytes }) =>
      this.change(block, (row) => {
        const others = row.channels.filter(({ id }) => id !== channelId);
        row.channels = [...others, { id: channelId, event, bytes: sizeBytes }].slice(-LISTED);
      }),
    onBatch: ({ batch, verdict }) => {
      if (verdict.kind === "undecided" || verdict.kind === "future") return; // it is checked again
      if (batch.fromSpan && verdict.kind !== "drop") return; // the span was shown
      const { type, timestamp, blockCount, transactionCount, l1InclusionBlock } = batch;
      const item: BatchItem = {
        type,
        verdict: verdict.kind === "drop" ? verdict.reason : verdict.kind,
        blocks: l2BlocksOf(this.deps.config, timestamp, blockCount),
        transactions: transactionCount,
      };
      this.change(l1InclusionBlock, (row) => {
        row.batchCount++;
        row.batches = listed(row.batches, item);
      });
    },
  };

  constructor(deps: PipelineFeedDeps) {
    this.deps = deps;
  }

  onSafe(safe: L2BlockRef, derivedFrom: L1BlockRef): void {
    this.change(derivedFrom, (row) => {
      row.safe = { from: Math.min(row.safe?.from ?? safe.number, safe.number), to: Math.max(row.safe?.to ?? 0, safe.number) };
    });
  }

  /** @param text what was dropped, as in the log; the fields are those of the log, too */
  onDropped(block: L1BlockRef, text: string, { reason, lost, transaction, transactions }: LogFields): void {
    this.change(block, (row) => {
      row.dropCount++;
    });
    const carriers = [transaction, transactions].find((text) => typeof text === "string");
    const item: DropItem = {
      atMs: this.deps.clock.unixMs(),
      l1Block: block.number,
      what: text,
      reason: String(reason),
      lost: String(lost),
      transaction: carriers?.slice(0, HASH_LENGTH),
    };
    this.deps.feed.put("drop", ++this.drops, item);
  }

  private change(block: L1BlockRef, change: (row: Mutable<L1Row>) => void): void {
    let row = this.rows.get(block.number);
    if (row === undefined) {
      const { number, timestamp } = block;
      row = { number, timeSec: timestamp, ...EMPTY };
      this.rows.set(number, row);
    }
    change(row);
    this.deps.feed.put("l1", block.number, row);
  }
}

const EMPTY = {
  data: [],
  dataCount: 0,
  dataBytes: 0,
  frames: [],
  frameCount: 0,
  channels: [],
  batches: [],
  batchCount: 0,
  dropCount: 0,
} satisfies Partial<L1Row>;

const listed = <T>(list: readonly T[], item: T): readonly T[] => (list.length < LISTED ? [...list, item] : list);
