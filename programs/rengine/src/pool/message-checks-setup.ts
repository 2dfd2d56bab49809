import type { Profile } from "@rnode/eth-api";
import { rpcErrorOf } from "@rnode/jsonrpc";
import type { Logger, MetricFactory } from "@rnode/observe";
import type { Clock } from "@rnode/primitives";
import { UserError } from "@rnode/program";
import { type ChainConfig, rollupRulesAt } from "@rnode/protocol";
import { MessageChecks } from "./message-checks.ts";
import { createMessageFilter } from "./message-filter.ts";
import { createQuorum } from "./message-quorum.ts";
import type { SafetyLevel } from "./safety-levels.ts";

/**
 * The checks of messages from other chains; undefined on a chain that never executes any.
 *
 * @throws {UserError} filters for such a chain
 */
export function messageChecksOf(
  options: {
    readonly interopHttp: readonly string[];
    /** `undefined`: all of them */
    readonly interopMinResponses: number | undefined;
    readonly interopSafetyLevel: SafetyLevel;
  },
  { optimism, chainId }: Pick<ChainConfig, "optimism" | "chainId">,
  {
    profile,
    clock,
    log,
    metrics,
  }: { readonly profile: Profile; readonly clock: Clock; readonly log: Logger; readonly metrics: MetricFactory },
): MessageChecks | undefined {
  const { interopHttp: urls, interopMinResponses: minResponses = urls.length, interopSafetyLevel: minSafety } = options;
  const isActiveAt = (timestampSec: number): boolean =>
    optimism !== undefined && rollupRulesAt(optimism.forkTimes, timestampSec).hasExecutingMessages;
  if (!isActiveAt(Number.MAX_SAFE_INTEGER)) {
    if (urls.length === 0) return undefined;
    throw new UserError(
      "--rollup.interop-http: the chain's configuration does not schedule messages between chains (lagoonTime), so there is nothing to ask",
    );
  }
  const filters = urls.map((url) => createMessageFilter(url, { chainId, minSafety }));
  return new MessageChecks({
    checker: filters.length === 0 ? undefined : createQuorum(filters, minResponses),
    isActiveAt,
    nowSec: () => Math.floor(clock.unixMs() / 1000),
    refusal: (reason) => rpcErrorOf(profile.errors.submission({ kind: "message-refused", reason })),
    log,
    metrics,
  });
}
