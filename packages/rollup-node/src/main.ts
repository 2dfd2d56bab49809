import { resolve } from "node:path";
import { readOrCreateJwtSecret } from "@rnode/jsonrpc";
import type { Logger } from "@rnode/observe";
import { isCodedError } from "@rnode/primitives";
import { type Program, type ProgramContext, runProgram, type Started } from "@rnode/program";
import { lastDerivationFacts } from "@rnode/protocol";
import { AdminStateFile } from "./admin-state.ts";
import { RollupNode } from "./node.ts";
import { type RnodeOptions, rnodeOptions } from "./options.ts";
import { loadDerivationConfig } from "./rollup-setup.ts";
import { StartError } from "./start-error.ts";
import { unavailableOption } from "./unavailable-options.ts";
import { VERSION } from "./version.ts";

const DEFAULT_JWT_FILE = "rnode_jwt_secret.txt";
const STATUS_INTERVAL_MS = 10_000;

const rnode: Program<(typeof rnodeOptions)["groups"]> = {
  name: "rnode",
  version: VERSION,
  table: rnodeOptions,
  check: unavailableOption,
  metricsPrefix: "rnode_default_",
  start,
};

/** `rnode`. @returns the exit code */
export function main(args: readonly string[], env: NodeJS.ProcessEnv): Promise<number> {
  return runProgram(rnode, args, env);
}

async function start(options: RnodeOptions, { scope, log, clock, metrics, health }: ProgramContext): Promise<Started> {
  const derivation = loadDerivationConfig(options);
  const adminState = new AdminStateFile(options.rpc.adminState);
  if (options.sequencer.enabled) adminState.load(); // a bad file stops the start
  const jwtPath = options.l2.jwtSecret ?? resolve(DEFAULT_JWT_FILE);
  const { secret: jwtSecret, isNew } = readSecret(jwtPath);
  if (isNew) log.info("made a new engine secret: give the same file to the execution client", { path: jwtPath });
  if (!options.p2p.disable)
    log.warn("peer-to-peer networking is not available in this build: going on without (--p2p.disable says so)");
  if (lastDerivationFacts(derivation.rollup.forkTimes).readsBlobs) assertBeaconIgnored(options, log);

  const node = new RollupNode(options, {
    derivation,
    jwtSecret,
    jwtPath,
    adminState,
    clock,
    random: Math.random,
    log,
    metrics,
    health,
  });
  const { rpcPort, ended } = await node.start(scope);
  const { rollup } = derivation;
  log.info("rnode is running", {
    version: VERSION,
    l2ChainId: rollup.l2ChainId,
    l1ChainId: rollup.l1ChainId,
    rpcPort,
    sequencer: options.sequencer.enabled,
  });
  return { failure: ended, status: { everyMs: STATUS_INTERVAL_MS, print: () => log.info("status", node.status()) } };
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
