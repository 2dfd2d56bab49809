import { flashblockMetadataOf, flashblockOf, type PartSink, type PartsEnd, type PendingBlock } from "@rnode/chain";
import type { PendingBlocks } from "@rnode/eth-api";
import type { Logger } from "@rnode/observe";
import { encodeFlashblock } from "@rnode/protocol";
import type { StreamMetrics } from "./stream-metrics.ts";
import type { StreamServer } from "./stream-server.ts";

export interface PartPublisherDeps {
  readonly pending: PendingBlocks;
  readonly server: Pick<StreamServer, "send" | "readers">;
  readonly log: Logger;
  readonly metrics: StreamMetrics;
}

/** Publishes the parts of blocks that are built here: to readers of the stream, and as the pending block. */
export class PartPublisher implements PartSink {
  readonly #deps: PartPublisherDeps;
  #isBuilding = false;

  constructor(deps: PartPublisherDeps) {
    this.#deps = deps;
  }

  /** A block is being built here, so streams of others do not count. */
  get isBuilding(): boolean {
    return this.#isBuilding;
  }

  onPart(part: PendingBlock): void {
    const { pending, server, metrics } = this.#deps;
    const stopTimer = metrics.publish.time();
    this.#isBuilding = true;
    metrics.published.inc();
    if (server.readers > 0) server.send(encodeFlashblock(flashblockOf(part), flashblockMetadataOf(part)));
    pending.set(part);
    stopTimer();
  }

  onEnd({ payloadId, block, index }: PendingBlock, end: PartsEnd, lost: number): void {
    const { log, metrics } = this.#deps;
    this.#isBuilding = false;
    metrics.builds.inc({ end });
    metrics.lost.add(lost);
    const fields = { number: block.header.number, payloadId, parts: index + 1 };
    if (lost > 0) log.warn("a block could not keep all transactions of published subblocks", { ...fields, lost });
    if (end === "sealed") log.debug("subblocks of a block sealed", fields);
    else log.info("subblocks of a build end without a block", { ...fields, reason: end });
  }

  onError(error: unknown): void {
    this.#isBuilding = false;
    this.#deps.log.error("a subblock could not be built", { err: error });
  }
}
