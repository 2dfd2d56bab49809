import { readFileSync } from "node:fs";
import type { Logger } from "@rnode/observe";
import { isCodedError, isSystemError } from "@rnode/primitives";
import {
  type DependencySet,
  dependencySetFromJson,
  dependencySetOf,
  forkFacts,
  networkByChainId,
  OP_FORKS,
  type OpFork,
  type RollupConfig,
  rollupRules,
} from "@rnode/protocol";
import { StartError } from "../common/start-error.ts";

/** The chains of the cluster; this one must be among them. @throws {StartError} start/bad-config */
function readDependencySet(path: string, { l2ChainId }: Pick<RollupConfig, "l2ChainId">): DependencySet {
  const refuse = (reason: string, cause?: unknown): StartError =>
    new StartError("start/bad-config", `--interop.dependency-set ${path}: ${reason}`, cause === undefined ? {} : { cause });
  let set: DependencySet;
  try {
    set = dependencySetFromJson(JSON.parse(readFileSync(path, "utf8")));
  } catch (cause) {
    if (cause instanceof SyntaxError) throw refuse(`not JSON: ${cause.message}`, cause);
    if (!isCodedError(cause) && !isSystemError(cause)) throw cause;
    throw refuse(cause.message, cause);
  }
  if (!set.chainIds.includes(l2ChainId)) {
    throw refuse(`dependencies lacks chain ${l2ChainId}, which is this one; it has ${set.chainIds.join(", ")}`);
  }
  return set;
}

/** Whether messages of other chains can be executed. */
export const isCluster = (set: DependencySet | undefined): boolean => set !== undefined && set.chainIds.length > 1;

/** The fork of the configuration that needs a dependency set; `undefined`: none is scheduled. */
const forkWithMessages = ({ forkTimes }: RollupConfig): OpFork | undefined =>
  OP_FORKS.find((fork) => forkTimes[fork] !== undefined && rollupRules(fork).hasExecutingMessages);

/**
 * The chains of the interop cluster: those of `--interop.dependency-set`, or of the named network, or of the network of the table that
 * has the chain id. `undefined`: there is none, and the configuration needs none.
 *
 * @param named the dependency set of a named network
 * @param source the node that safe blocks are taken from, which checks messages; `undefined`: blocks are derived here
 * @throws {StartError} start/bad-config, also if a fork is scheduled that needs a set, and there is none
 */
export function chooseDependencySet(
  { dependencySet: path }: { readonly dependencySet: string | undefined },
  rollup: RollupConfig,
  named: DependencySet | undefined,
  log: Pick<Logger, "info" | "warn">,
  source?: string,
): DependencySet | undefined {
  const network = networkByChainId(rollup.l2ChainId);
  const known = named ?? (network && dependencySetOf(network));
  const set = path === undefined ? known : readDependencySet(path, rollup);
  const fork = forkWithMessages(rollup);
  if (fork !== undefined && set === undefined) {
    const { rollupKey, override } = forkFacts(fork);
    const alone = `{"dependencies": {"${rollup.l2ChainId}": {}}}`;
    throw new StartError(
      "start/bad-config",
      `--interop.dependency-set is required: ${rollupKey} (--override.${override}) is ${rollup.forkTimes[fork]}, and the table of networks has no chain ${rollup.l2ChainId}. Give a file that lists the chains whose messages this one executes; for this chain alone, it is ${alone}`,
    );
  }
  if (set !== undefined && path !== undefined) {
    log.info("the chains whose messages can be executed", {
      chains: set.chainIds.join(","),
      expiryWindowSec: set.expiryWindowSec,
    });
  }
  if (fork !== undefined && isCluster(set) && source === undefined) {
    log.warn("messages of other chains are not checked: a safe block with an invalid message may be replaced later");
  }
  return set;
}
