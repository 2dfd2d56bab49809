import type { CollectedMetrics } from "@rnode/observe";
import { isCompiled } from "@rnode/threads";
import type { DevP2PConfig, DevP2PHandlers, DevP2PNetwork } from "./network.ts";
import type { NetworkDeps } from "./start-network.ts";
import { DevP2PThread } from "./thread/devp2p-thread.ts";

export interface OpenNetworkDeps extends NetworkDeps {
  /** where the metrics of the thread are exposed, and the prefix of their names; undefined: none are kept */
  readonly threadMetrics?:
    | { readonly prefix: string; readonly include: (collect: () => Promise<readonly CollectedMetrics[]>) => void }
    | undefined;
}

/**
 * Starts the network in a thread of its own. Where the program runs from its sources (in tests), there is no file that a thread could
 * load, and it runs in the caller's thread.
 *
 * @throws {DevP2PError} devp2p/bad-setting, devp2p/bad-enode, and whatever else keeps it from starting
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
