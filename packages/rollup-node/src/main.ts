import { resolve } from "node:path";
import { readOrCreateJwtSecret } from "@rnode/jsonrpc";
import { createLogger, createMetrics, type Logger, noMetrics } from "@rnode/observe";
import { helpText, parseOptions } from "@rnode/options";
import { isCodedError } from "@rnode/primitives";
import { listenForStop, startMetricsServer, systemClock } from "@rnode/program";
import { AdminStateFile } from "./admin-state.ts";
import { RollupNode } from "./node.ts";
import { type RnodeOptions, rnodeOptions } from "./options.ts";
import { loadDerivationConfig } from "./rollup-setup.ts";
import { StartError } from "./start-error.ts";
import { unavailableOption } from "./unavailable-options.ts";
import { VERSION } from "./version.ts";

const DEFAULT_JWT_FILE = "rnode_jwt_secret.txt";

/** @returns the exit code: 0 after a stop that was asked for, 1 when the node could not start or go on */
export async function main(args: readonly string[], env: NodeJS.ProcessEnv): Promise<number> {
  const parsed = parseOptions(rnodeOptions, args, env);
  switch (parsed.kind) {
    case "help":
      console.log(helpText(rnodeOptions));
      return 0;
    case "version":
      console.log(`rnode ${VERSION}`);
      return 0;
    case "error":
      return fail(parsed.message);
    case "options":
      break;
  }
  const { options, sources, warnings } = parsed;
  const unavailable = unavailableOption(options, sources);
  if (unavailable !== undefined) return fail(unavailable);
  const log = createLogger(options.log);
  for (const warning of warnings) log.warn(warning);
  try {
    await run(options, log);
    return 0;
  } catch (error) {
    if (error instanceof StartError) return fail(error.message);
    log.error("the node cannot go on", { error });
    return 1;
  }
}

function fail(message: string): number {
  console.error(`rnode: ${message}`);
  return 1;
}

/** Runs the node until SIGINT or SIGTERM, or until it cannot go on. */
async function run(options: RnodeOptions, log: Logger): Promise<void> {
  const derivation = loadDerivationConfig(options);
  const adminState = new AdminStateFile(options.rpc.adminState);
  if (options.sequencer.enabled) adminState.load(); // a bad file stops the start
  const jwtPath = options.l2.jwtSecret ?? resolve(DEFAULT_JWT_FILE);
  const { secret: jwtSecret, isNew } = readSecret(jwtPath);
  if (isNew) log.info("made a new engine secret: give the same file to the execution client", { path: jwtPath });
  if (!options.p2p.disable)
    log.warn("peer-to-peer networking is not available in this build: going on without (--p2p.disable says so)");
  if (derivation.rollup.forkTimes.ecotone !== undefined) assertBeaconIgnored(options, log);

  const metrics = options.metrics.enabled ? createMetrics({ prefix: "rnode_default_" }) : undefined;
  const metricsServer =
    metrics === undefined
      ? undefined
      : await startMetricsServer(metrics, { host: options.metrics.addr, port: options.metrics.port });
  const node = new RollupNode(options, {
    derivation,
    jwtSecret,
    jwtPath,
    adminState,
    clock: systemClock,
    random: Math.random,
    log,
    metrics: metrics ?? noMetrics,
  });
  const stop = listenForStop();
  const stopping = stop.asked.then((signal) => {
    log.info("stopping", { signal });
    return undefined;
  });
  try {
    const started = await Promise.race([node.start(), stopping]);
    if (started === undefined) return;
    const { rollup } = derivation;
    log.info("rnode is running", {
      version: VERSION,
      l2ChainId: rollup.l2ChainId,
      l1ChainId: rollup.l1ChainId,
      rpcPort: started.rpcPort,
      sequencer: options.sequencer.enabled,
    });
    await Promise.race([started.ended, stopping]);
  } finally {
    stop.forget();
    await node.close();
    await metricsServer?.close();
    log.info("stopped");
  }
}

/** Blobs are where most chains publish from Ecotone on, and this build cannot read them. */
function assertBeaconIgnored(options: RnodeOptions, log: Logger): void {
  if (!options.l1.beaconIgnore) {
    throw new StartError(
      "start/bad-config",
      "expected L1 Beacon API endpoint, but got none: reading blobs is not available in this build; --l1.beacon.ignore goes on without it, as chains that publish calldata can",
    );
  }
  log.warn("going on without a beacon node: a batch in blobs would stop derivation");
}

function readSecret(path: string): ReturnType<typeof readOrCreateJwtSecret> {
  try {
    return readOrCreateJwtSecret(path);
  } catch (cause) {
    if (isCodedError(cause, "jwt/"))
      throw new StartError("start/bad-config", `--l2.jwt-secret: ${String(cause.data.reason)}`, { cause });
    if (cause instanceof Error && "syscall" in cause) {
      throw new StartError("start/bad-config", `--l2.jwt-secret: ${cause.message}`, { cause });
    }
    throw cause;
  }
}
