import { monitorEventLoopDelay } from "node:perf_hooks";
import type { CollectedMetrics } from "@rnode/observe";
import { isCompiled } from "@rnode/threads";
import type { NetworkDeps } from "./host/start-network.ts";
import type { P2PConfig, P2PHandlers, P2PNetwork } from "./network.ts";
import { observeEventLoop } from "./thread/event-loop-metrics.ts";
import { P2PThread, type P2PThreadDeps } from "./thread/p2p-thread.ts";

export interface OpenNetworkDeps extends NetworkDeps, Pick<P2PThreadDeps, "host"> {
  /** target and name prefix of the thread's metrics; `undefined`: no metrics */
  readonly threadMetrics?:
    | { readonly prefix: string; readonly include: (collect: () => Promise<readonly CollectedMetrics[]>) => void }
    | undefined;
}

/**
 * Starts the network in a thread apart from the caller's. If the program runs from its sources (in tests), there is no built file for a thread,
 * and it runs in the caller's thread.
 *
 * @throws {P2PSettingError} and other errors of the start
 */
export async function openNetwork(config: P2PConfig, handlers: P2PHandlers, deps: OpenNetworkDeps): Promise<P2PNetwork> {
  if (!isCompiled(import.meta.url)) {
    const { startNetwork } = await import("./host/start-network.ts");
    return startNetwork(config, handlers, deps);
  }
  const { threadMetrics } = deps;
  const thread = await P2PThread.start(config, handlers, { ...deps, metricsPrefix: threadMetrics?.prefix });
  threadMetrics?.include(() => thread.collect());
  if (threadMetrics !== undefined) observeEventLoop(deps.metrics, "main", monitorEventLoopDelay({ resolution: 10 }));
  return thread;
}
