import { readFileSync } from "node:fs";
import type { Logger } from "@rnode/observe";
import { isCodedError } from "@rnode/primitives";
import { type DependencySet, dependencySetFromJson, type RollupConfig, rollupRulesAt } from "@rnode/protocol";
import { StartError } from "../common/start-error.ts";

const isFileError = (error: unknown): error is NodeJS.ErrnoException => error instanceof Error && "syscall" in error;

/** The chains of the cluster; this one must be among them. @throws {StartError} start/bad-config */
export function readDependencySet(path: string, { l2ChainId }: Pick<RollupConfig, "l2ChainId">): DependencySet {
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

/**
 * The chains of the interop cluster; `undefined` without `--interop.dependency-set` and without a named network.
 *
 * @param named the dependency set of a named network, which `--interop.dependency-set` replaces
 * @throws {StartError} start/bad-config
 */
export function chooseDependencySet(
  { dependencySet: path }: { readonly dependencySet: string | undefined },
  rollup: RollupConfig,
  named: DependencySet | undefined,
  log: Logger,
): DependencySet | undefined {
  const set = path === undefined ? named : readDependencySet(path, rollup);
  if (set !== undefined && path !== undefined) {
    log.info("the chains whose messages can be executed", {
      chains: set.chainIds.join(","),
      expiryWindowSec: set.expiryWindowSec,
    });
  }
  const hasMessages = rollupRulesAt(rollup.forkTimes, Number.MAX_SAFE_INTEGER).hasExecutingMessages;
  const isAlone = set?.chainIds.length === 1; // it executes no messages of others
  if (hasMessages && !isAlone) {
    log.warn("messages of other chains are not checked: a safe block with an invalid message may be replaced later");
  }
  return set;
}
