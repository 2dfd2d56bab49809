import type { Logger } from "@rnode/observe";
import type { Clock } from "@rnode/primitives";
import type { BatcherMetrics } from "./batcher-metrics.ts";
import type { ChannelEvents } from "./channels/channel-manager.ts";

/** Logs and metrics of channels. */
export function channelEvents({
  clock,
  log,
  metrics,
}: {
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: BatcherMetrics;
}): ChannelEvents {
  const reached = (stage: "opened" | "closed" | "fully_submitted"): void => {
    metrics.channels.inc({ stage });
    metrics.lastChannel.set(Math.floor(clock.unixMs() / 1000), { stage });
  };
  return {
    opened: () => reached("opened"),
    closed: (channel, reason) => {
      const { id, blockCount, frameCount, inputBytes, outputBytes } = channel;
      reached("closed");
      metrics.channelsClosed.inc({ reason });
      metrics.blocksAdded.set(blockCount);
      metrics.inputBytes.set(inputBytes, { stage: "closed" });
      metrics.outputBytes.set(outputBytes);
      metrics.inputBytesTotal.add(inputBytes);
      metrics.outputBytesTotal.add(outputBytes);
      metrics.channelFrames.set(frameCount);
      if (inputBytes > 0) metrics.compressionRatio.observe(outputBytes / inputBytes);
      const lastBlock = channel.lastBlock?.ref.number ?? 0;
      log.info("channel closed", { channelId: id, reason, blockCount, lastBlock, inputBytes, outputBytes, frameCount });
    },
    confirmed: ({ id, lastBlock }) => {
      reached("fully_submitted");
      log.debug("channel is on L1", { channelId: id, lastBlock: lastBlock?.ref.number ?? 0 });
    },
  };
}
