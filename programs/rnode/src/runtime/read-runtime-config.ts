import type { Logger } from "@rnode/observe";
import type { Clock } from "@rnode/primitives";
import type { Scope } from "@rnode/program";
import type { RollupConfig } from "@rnode/protocol";
import type { RnodeOptions } from "../options.ts";
import type { NodeConnections } from "../start/connections.ts";
import { type ProtocolVersionMetrics, ProtocolVersionWatch, readsProtocolVersions } from "./protocol-version-watch.ts";
import { RuntimeConfig, type RuntimeConfigDeps } from "./runtime-config.ts";

export interface ReadRuntimeConfigDeps {
  readonly config: RollupConfig;
  readonly connections: Pick<NodeConnections, "l1" | "engine">;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: ProtocolVersionMetrics;
  /** undefined: P2P is off, so no signer is needed */
  readonly onSigner: RuntimeConfigDeps["onSigner"];
}

/**
 * Reads from L1 what may change while the node runs, for those who want it, until the scope closes.
 *
 * @returns a promise that rejects when the node must halt
 * @throws {StartError} L1 does not give it
 */
export async function readRuntimeConfig(
  scope: Scope,
  options: Pick<RnodeOptions, "l1" | "rollup" | "verifier">,
  { config, connections: { l1, engine }, clock, log, metrics, onSigner }: ReadRuntimeConfigDeps,
): Promise<{ readonly ended: Promise<void> }> {
  const watchesVersions = readsProtocolVersions(options.rollup, config, log);
  if (onSigner === undefined && !watchesVersions) return { ended: new Promise(() => {}) };
  const versions = new ProtocolVersionWatch(options.rollup, { engine, log, metrics });
  const onVersions = watchesVersions ? versions.take.bind(versions) : undefined;
  const runtime = new RuntimeConfig(options, { config, l1, clock, log, onSigner, onVersions });
  scope.signal.addEventListener("abort", () => void runtime.close());
  return await scope.use(
    "runtime configuration",
    () => runtime.start(),
    () => runtime.close(),
  );
}
