import type { Logger } from "@rnode/observe";
import type { Clock } from "@rnode/primitives";
import type { RollupConfig } from "@rnode/protocol";
import { StartError } from "../common/start-error.ts";
import type { FollowSource } from "./follow-source.ts";
import { configDifferences } from "./source-chain.ts";
import { answerOf, foreignSource } from "./source-reader.ts";

/**
 * The source at the start. One that is of another chain ends the start; one that does not answer yet is waited for while the node runs.
 *
 * @throws {StartError} start/wrong-chain, start/wrong-endpoint
 */
export async function checkSource(
  source: FollowSource,
  { config, clock, log }: { readonly config: RollupConfig; readonly clock: Pick<Clock, "unixMs">; readonly log: Logger },
): Promise<void> {
  const [theirs, status] = [await answerOf(() => source.rollupConfig()), await answerOf(() => source.syncStatus())];
  const name = `--l2.follow.source ${source.name}`;
  if ("trouble" in status && status.kind === "unknown-method") {
    throw new StartError(
      "start/wrong-endpoint",
      `${name} is not a rollup node: ${status.trouble}; name the RPC address of a node that derives`,
    );
  }
  if ("answer" in theirs) {
    const { now } = configDifferences(config, theirs.answer, Math.floor(clock.unixMs() / 1_000));
    if (now.length > 0) throw new StartError("start/wrong-chain", `${name}: ${foreignSource(now)}`);
  }
  if ("trouble" in status)
    log.warn("the source of safe blocks does not answer yet: no block becomes safe before it does", {
      source: source.name,
      reason: status.trouble,
    });
  else log.info("light mode: safe blocks come from another node", { source: source.name, safe: status.answer.safeL2.number });
}
