import type { CollectedMetrics } from "@rnode/observe";
import { isCompiled } from "@rnode/threads";
import type { DevP2PConfig, DevP2PHandlers, DevP2PNetwork } from "./network.ts";
import type { NetworkDeps } from "./start-network.ts";
import { DevP2PThread } from "./thread/devp2p-thread.ts";

export interface OpenNetworkDeps extends NetworkDeps {
  /** target and name prefix of the thread's metrics; `undefined`: no metrics */
  readonly threadMetrics?:
    | { readonly prefix: string; readonly include: (collect: () => Promise<readonly CollectedMetrics[]>) => void }
    | undefined;
}

/**
 * Starts the network in a separate thread. If the program runs from its sources (in tests), there is no built file for a thread,
 * and it runs in the caller's thread.
 *
 * @throws {DevP2PError} devp2p/bad-setting, devp2p/bad-enode, and other errors of the start
 */
export async function openNetwork(config: DevP2PConfig, handlers: DevP2PHandlers, deps: OpenNetworkDeps): Promise<DevP2PNetwork> {
  if (!isCompiled(import.meta.url)) {
    const { startNetwork } = await import("./start-network.ts");
    return startNetwork(config, handlers, deps);
  }
  const { threadMetrics } = deps;
  const thread = await DevP2PThread.start(config, handlers, { ...deps, metricsPrefix: threadMetrics?.prefix });
  threadMetrics?.include(() => thread.collect());
  return thread;
}
