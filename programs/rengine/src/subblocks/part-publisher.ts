import { flashblockMetadataOf, flashblockOf, type PartSink, type PartsEnd, type PendingBlock } from "@rnode/chain";
import type { PendingBlocks } from "@rnode/eth-api";
import type { Logger } from "@rnode/observe";
import { encodeFlashblock, type FlashblockOrder } from "@rnode/protocol";
import type { PartOutlet } from "./part-outlet.ts";
import type { StreamMetrics } from "./stream-metrics.ts";

export interface PartPublisherDeps {
  readonly pending: PendingBlocks;
  readonly outlet: Pick<PartOutlet, "publish">;
  /** that of the followed streams: parts that are built here take the place of those, and are known when they come back */
  readonly order: FlashblockOrder;
  readonly log: Logger;
  readonly metrics: StreamMetrics;
}

/** Publishes the parts of blocks that are built here: to readers of the stream, and as the pending block. */
export class PartPublisher implements PartSink {
  readonly #deps: PartPublisherDeps;
  #building: number | undefined;

  constructor(deps: PartPublisherDeps) {
    this.#deps = deps;
  }

  /** The number of the block that is being built here. */
  get building(): number | undefined {
    return this.#building;
  }

  onBegin(number: number): void {
    this.#building = number;
  }

  onPart(part: PendingBlock): void {
    const { pending, outlet, order, metrics } = this.#deps;
    const stopTimer = metrics.publish.time();
    metrics.published.inc();
    const message = flashblockOf(part);
    order.take(message);
    outlet.publish(message, () => encodeFlashblock(message, flashblockMetadataOf(part)));
    pending.set(part);
    stopTimer();
  }

  onEnd({ payloadId, block, index }: PendingBlock, end: PartsEnd, lost: number): void {
    const { log, metrics, order } = this.#deps;
    this.#building = undefined;
    order.drop(payloadId); // not the next block's, which another leader may be building
    metrics.builds.inc({ end });
    metrics.lost.add(lost);
    const fields = { number: block.header.number, payloadId, parts: index + 1 };
    if (lost > 0) log.warn("a block could not keep all transactions of published subblocks", { ...fields, lost });
    if (end === "sealed") log.debug("subblocks of a block sealed", fields);
    else log.info("subblocks of a build end without a block", { ...fields, reason: end });
  }

  onError(error: unknown): void {
    this.#building = undefined;
    this.#deps.log.error("a subblock could not be built", { err: error });
  }
}
