import type { Chain, ChainParts, Delay } from "@rnode/chain";
import type { PendingBlocks } from "@rnode/eth-api";
import type { Feed, Logger, MetricFactory } from "@rnode/observe";
import type { Clock } from "@rnode/primitives";
import { namingPorts, type Scope, UserError } from "@rnode/program";
import { FlashblockOrder } from "@rnode/protocol";
import { PartFollower } from "./part-follower.ts";
import { PartOutlet } from "./part-outlet.ts";
import { PartPromises } from "./part-promises.ts";
import { PartPublisher } from "./part-publisher.ts";
import { createStreamMetrics } from "./stream-metrics.ts";
import { StreamServer } from "./stream-server.ts";
import { StreamSource } from "./stream-source.ts";
import type { SubblockOptions } from "./subblock-options.ts";
import { feedSubblocks } from "./subblocks-feed.ts";

export interface SubblocksDeps {
  readonly chain: Chain & ChainParts;
  readonly pending: PendingBlocks;
  readonly delay: Delay;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: MetricFactory;
  readonly feed: Feed;
}

/** Publishes and follows blocks under construction. @returns the port of the stream. @throws {UserError}, errors of listening */
export async function startSubblocks(
  scope: Scope,
  options: SubblockOptions,
  { chain, pending, delay, clock, log, metrics: factory, feed }: SubblocksDeps,
): Promise<number> {
  if (chain.config.optimism === undefined) throw new UserError("--subblocks and --flashblocks-url are for OP Stack chains");
  const metrics = createStreamMetrics(factory);
  const server: StreamServer = new StreamServer(options, metrics, () => outlet.missed());
  const outlet = new PartOutlet({ server, head: () => chain.head().number });
  const port = await scope.use(
    "stream of subblocks",
    () => namingPorts({ "subblocks.port": options.port }, () => server.listen()),
    () => server.close(),
  );
  const order = new FlashblockOrder();
  const promises = new PartPromises({ chain, pending, log, metrics });
  const publisher = new PartPublisher({ pending, outlet, order, log, metrics });
  if (options.enabled) {
    chain.publishParts({
      intervalMs: options.intervalMs,
      sink: publisher,
      delay,
      clock,
      promised: (parentHash) => promises.on(parentHash),
    });
  }
  const sources = new Map(options.urls.map((url) => [url, false]));
  feedSubblocks(feed, { pending, clock, publishes: options.enabled, sources, server, publisher, promises });
  if (options.urls.length > 0) {
    const follower = new PartFollower({
      chain,
      pending,
      relay: (part, text) => outlet.publish(part, () => text, text.length),
      order,
      building: () => publisher.building,
      log,
      metrics,
      nowMs: () => clock.monotonicMs(),
    });
    scope.onClose("subblock follower", () => follower.close());
    for (const url of options.urls) {
      const source = new StreamSource(
        url,
        {
          onMessage: (text) => follower.take(text, url),
          onUp() {
            sources.set(url, true);
            metrics.sources.set(1, { source: url });
            log.info("stream of subblocks connected", { source: url });
          },
          onDown(reason, failures) {
            sources.set(url, false);
            metrics.sources.set(0, { source: url });
            log[failures === 1 ? "warn" : "debug"]("stream of subblocks lost", { source: url, reason });
          },
        },
        clock,
      );
      scope.onClose("source of subblocks", () => source.close());
    }
  }
  log.info("stream of subblocks listens", { addr: options.host, port, publishes: options.enabled, follows: options.urls.length });
  return port;
}
