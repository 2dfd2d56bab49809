import type { ChannelEvent, DerivationObserver } from "@rnode/derivation";
import { bytesToHex } from "@rnode/primitives";
import type { L1BlockRef, RollupConfig } from "@rnode/protocol";

/** The ways in which a channel ends without yielding all of its data. */
const LOST: Partial<Record<ChannelEvent, true>> = {
  "timed-out": true,
  pruned: true,
  replaced: true,
  "too-large": true,
  "unknown-compression": true,
  malformed: true,
};

/** Whether a channel that ends so has lost data. */
export const isLostChannel = (event: ChannelEvent): boolean => LOST[event] === true;

/** The L2 blocks that batches are for, as "block 7" or "blocks 7 to 9". */
export function l2BlocksOf(
  { genesis, blockTimeSec }: Pick<RollupConfig, "genesis" | "blockTimeSec">,
  timestampSec: number,
  count: number,
): string {
  const first = genesis.l2.number + Math.floor((timestampSec - genesis.l2TimeSec) / blockTimeSec);
  return count === 1 ? `block ${first}` : `blocks ${first} to ${first + count - 1}`;
}

/** Counts, by reason, the batcher data that derivation dropped. The reasons are closed sets, so this stays small. */
export class DroppedData {
  private readonly config: Pick<RollupConfig, "genesis" | "blockTimeSec">;
  private readonly counts = new Map<string, number>();
  private latest: string | undefined;

  /** to be added to the pipeline's observers */
  readonly observer: Pick<DerivationObserver, "onDataDropped" | "onFrameDropped" | "onChannel" | "onBatch"> = {
    onDataDropped: ({ block, transactionHash, reason }) => this.add("transaction", reason, `transaction ${transactionHash}`, block),
    onFrameDropped: ({ block, frame: { channelId, number }, reason }) =>
      this.add("frame", reason, `frame ${number} of channel ${bytesToHex(channelId)}`, block),
    onChannel: ({ block, channelId, event }) => {
      if (isLostChannel(event)) this.add("channel", event, `channel ${channelId}`, block);
    },
    onBatch: ({ batch: { type, timestamp, blockCount, l1InclusionBlock }, verdict }) => {
      if (verdict.kind !== "drop") return;
      const blocks = l2BlocksOf(this.config, timestamp, blockCount);
      this.add("batch", verdict.reason, `${type} batch of ${blocks}`, l1InclusionBlock);
    },
  };

  constructor(config: Pick<RollupConfig, "genesis" | "blockTimeSec">) {
    this.config = config;
  }

  get isEmpty(): boolean {
    return this.counts.size === 0;
  }

  /** For example "2 batch epoch-too-old, 1 frame not-first", with the most frequent first. */
  get summary(): string {
    const byCount = [...this.counts].sort(([, a], [, b]) => b - a);
    return byCount.length === 0 ? "nothing" : byCount.map(([what, count]) => `${count} ${what}`).join(", ");
  }

  /** The last dropped item, with its L1 block and the reason. */
  get last(): string | undefined {
    return this.latest;
  }

  clear(): void {
    this.counts.clear();
    this.latest = undefined;
  }

  private add(kind: string, reason: string, what: string, block: L1BlockRef): void {
    const key = `${kind} ${reason}`;
    this.counts.set(key, (this.counts.get(key) ?? 0) + 1);
    this.latest = `${what} in L1 block ${block.number}: ${reason}`;
  }
}
