import { createMetrics, silentLogger } from "@rnode/observe";
import { parseOptions } from "@rnode/program";
import { SimClock } from "@rnode/program/testing";
import type { L2BlockRef } from "@rnode/protocol";
import { ChannelManager } from "../channels/channel-manager.ts";
import { rbatcherOptions } from "../options.ts";
import { Throttle, type ThrottledEndpoint } from "../throttle/throttle.ts";
import { createThrottleMetrics } from "../throttle/throttle-metrics.ts";
import { throttleOptionsOf } from "../throttle/throttle-options.ts";
import { simChannelConfig, simChannelOuts } from "./sim-channels.ts";

export interface ThrottledLoad {
  /** takes blocks, and counts their load */
  readonly manager: ChannelManager;
  /** tells the endpoint limits that follow from it */
  readonly throttle: Throttle;
  /** the value of a gauge, of the quadratic controller where it has a label */
  readonly gauge: (name: string) => Promise<number>;
}

/** The parts of rbatcher between the blocks that it reads and the limits that it tells a block builder. @param args options of rbatcher */
export function createThrottledLoad(safeL2: L2BlockRef, endpoint: ThrottledEndpoint, args: readonly string[] = []): ThrottledLoad {
  const parsed = parseOptions(
    rbatcherOptions,
    ["l1-eth-rpc", "l2-eth-rpc", "rollup-rpc"]
      .map((name) => `--${name}=http://127.0.0.1:1`)
      .concat(`--private-key=${"11".repeat(32)}`, args),
    {},
  );
  if (parsed.kind !== "options") throw new Error(JSON.stringify(parsed));
  const config = simChannelConfig({ dataAvailabilityType: "blobs", targetNumFrames: 6, maxChannelDuration: 1 });
  const manager = new ChannelManager(config, { createChannelOut: simChannelOuts() }, safeL2);
  const metrics = createMetrics({ prefix: "", ofProcess: false });
  const throttle = new Throttle(throttleOptionsOf(parsed.options.throttle), {
    endpoints: [endpoint],
    load: () => manager.unsafeDaBytes,
    clock: new SimClock(),
    log: silentLogger,
    metrics: createThrottleMetrics(metrics),
  });
  return {
    manager,
    throttle,
    async gauge(name) {
      const { body } = await metrics.expose();
      return Number(new RegExp(`^${name}(?:\\{[^}]*quadratic[^}]*\\})? (.*)$`, "m").exec(body)?.[1]);
    },
  };
}
