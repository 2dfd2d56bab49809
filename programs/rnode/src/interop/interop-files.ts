import { chmodSync, existsSync, readFileSync, rmSync } from "node:fs";
import { resolve } from "node:path";
import { namingSecretOption, readOrCreateJwtSecret, readSecretOf } from "@rnode/jsonrpc";
import type { Logger } from "@rnode/observe";
import { isCodedError } from "@rnode/primitives";
import { type DependencySet, dependencySetFromJson, type RollupConfig, rollupRulesAt } from "@rnode/protocol";
import { StartError } from "../common/start-error.ts";
import type { RnodeOptions } from "../options.ts";
import type { ManagedServerOptions } from "./managed-server.ts";

const DEFAULT_JWT_FILE = "rnode_interop_jwt_secret.txt";
const INTEROP_JWT_SECRET = { option: "--interop.jwt-secret" };

const isFileError = (error: unknown): error is NodeJS.ErrnoException => error instanceof Error && "syscall" in error;

/**
 * The secret that the supervisor must have, too. This node is the server, so a missing or empty file is filled with a new one.
 *
 * @throws {CodedError} jwt/bad-option
 */
function readInteropSecret(file: string | undefined, log: Logger): Uint8Array {
  const path = file ?? resolve(DEFAULT_JWT_FILE);
  return namingSecretOption(INTEROP_JWT_SECRET, () => {
    if (isEmptyFile(path)) rmSync(path);
    const { secret, isNew } = readOrCreateJwtSecret(path);
    if (isNew) {
      chmodSync(path, 0o600);
      log.info("made a new secret for the supervisor: give it the same file", { path });
    }
    return secret;
  });
}

function isEmptyFile(path: string): boolean {
  try {
    return readFileSync(path, "utf8").trim() === "";
  } catch (error) {
    if (isFileError(error) && error.code === "ENOENT") return false;
    throw error;
  }
}

/** The chains of the cluster; this one must be among them. @throws {StartError} start/bad-config */
function readDependencySet(path: string, { l2ChainId }: Pick<RollupConfig, "l2ChainId">): DependencySet {
  const refuse = (reason: string, cause?: unknown): StartError =>
    new StartError("start/bad-config", `--interop.dependency-set ${path}: ${reason}`, cause === undefined ? {} : { cause });
  let set: DependencySet;
  try {
    set = dependencySetFromJson(JSON.parse(readFileSync(path, "utf8")));
  } catch (cause) {
    if (cause instanceof SyntaxError) throw refuse(`not JSON: ${cause.message}`, cause);
    if (!isCodedError(cause) && !isFileError(cause)) throw cause;
    throw refuse(cause.message, cause);
  }
  if (!set.chainIds.includes(l2ChainId)) {
    throw refuse(`dependencies lacks chain ${l2ChainId}, which is this one; it has ${set.chainIds.join(", ")}`);
  }
  return set;
}

export interface InteropSetup {
  /** `undefined` without `--interop.dependency-set` and without a named network */
  readonly dependencySet: DependencySet | undefined;
  /** `undefined` without a supervisor */
  readonly supervisor: ManagedServerOptions | undefined;
}

type InteropOptions = RnodeOptions["interopServer"];

/** Whether there are messages between chains, sooner or later. @throws {StartError} start/bad-config: a server without them */
function expectsMessages({ rpcAddr }: InteropOptions, { forkTimes }: RollupConfig): boolean {
  const hasMessages = rollupRulesAt(forkTimes, Number.MAX_SAFE_INTEGER).hasExecutingMessages;
  if (hasMessages || rpcAddr === undefined) return hasMessages;
  throw new StartError(
    "start/bad-config",
    "--interop.rpc.addr: the rollup's configuration schedules no interop (interop_time), so there is nothing to supervise",
  );
}

/** Refuses what `interopSetup` refuses, and makes no file. @throws {StartError, CodedError} */
export function checkInterop(options: InteropOptions, rollup: RollupConfig): void {
  if (options.dependencySet !== undefined) readDependencySet(options.dependencySet, rollup);
  expectsMessages(options, rollup);
  const path = options.jwtSecret ?? resolve(DEFAULT_JWT_FILE);
  if (options.rpcAddr !== undefined && existsSync(path) && !isEmptyFile(path)) readSecretOf(INTEROP_JWT_SECRET, path);
}

/**
 * What the options say about the interop cluster.
 *
 * @param named the dependency set of a named network, which `--interop.dependency-set` replaces
 * @throws {StartError} start/bad-config
 */
export function interopSetup(
  options: InteropOptions,
  rollup: RollupConfig,
  named: DependencySet | undefined,
  log: Logger,
): InteropSetup {
  const { dependencySet } = options;
  const set = dependencySet === undefined ? named : readDependencySet(dependencySet, rollup);
  if (set !== undefined && dependencySet !== undefined) {
    log.info("the chains whose messages can be executed", {
      chains: set.chainIds.join(","),
      expiryWindowSec: set.expiryWindowSec,
    });
  }
  const hasMessages = expectsMessages(options, rollup);
  const { rpcAddr, rpcPort, jwtSecret } = options;
  if (rpcAddr === undefined) {
    const isAlone = set?.chainIds.length === 1; // it executes no messages of others
    if (hasMessages && !isAlone) {
      log.warn("nobody supervises this node (--interop.rpc.addr): blocks count as safe without their messages being checked");
    }
    return { dependencySet: set, supervisor: undefined };
  }
  return { dependencySet: set, supervisor: { host: rpcAddr, port: rpcPort, jwtSecret: readInteropSecret(jwtSecret, log) } };
}
