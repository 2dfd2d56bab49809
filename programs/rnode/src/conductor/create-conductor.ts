import { createRpcClient } from "@rnode/jsonrpc";
import { readConductorSecret } from "../engine/engine-secret.ts";
import type { NodeBase } from "../node-base.ts";
import type { RnodeOptions } from "../options.ts";
import { ConductorClient } from "./conductor-client.ts";

/** The conductor that the options name; `undefined` without `--conductor.enabled`. */
export function createConductor(
  { enabled, rpc: url, jwtSecret: file, ...options }: RnodeOptions["conductor"],
  { clock, log, metrics }: Pick<NodeBase, "clock" | "log" | "metrics">,
): ConductorClient | undefined {
  if (!enabled) return undefined;
  const jwtSecret = file === undefined ? undefined : readConductorSecret(file);
  const rpc = createRpcClient({ url, timeoutMs: options.rpcTimeoutMs, jwtSecret });
  return new ConductorClient(options, {
    rpc: metrics.rpcClients.counting(rpc, "conductor"),
    clock,
    log: log.child({ part: "conductor" }),
  });
}
