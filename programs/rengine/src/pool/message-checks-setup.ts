import type { Profile } from "@rnode/eth-api";
import { rpcErrorOf } from "@rnode/jsonrpc";
import type { Logger, MetricFactory } from "@rnode/observe";
import type { Clock } from "@rnode/primitives";
import { UserError } from "@rnode/program";
import { type ChainConfig, rollupRulesAt } from "@rnode/protocol";
import { createMessageSupervisor, MessageChecks } from "./message-checks.ts";
import type { SafetyLevel } from "./safety-levels.ts";

/**
 * The checks of messages from other chains; undefined on a chain that never executes any.
 *
 * @throws {UserError} a supervisor for such a chain
 */
export function messageChecksOf(
  {
    supervisorHttp,
    supervisorSafetyLevel,
  }: { readonly supervisorHttp?: string | undefined; readonly supervisorSafetyLevel: SafetyLevel },
  { optimism }: Pick<ChainConfig, "optimism">,
  {
    profile,
    clock,
    log,
    metrics,
  }: { readonly profile: Profile; readonly clock: Clock; readonly log: Logger; readonly metrics: MetricFactory },
): MessageChecks | undefined {
  const isActiveAt = (timestampSec: number): boolean =>
    optimism !== undefined && rollupRulesAt(optimism.forkTimes, timestampSec).hasExecutingMessages;
  if (!isActiveAt(Number.MAX_SAFE_INTEGER)) {
    if (supervisorHttp === undefined) return undefined;
    throw new UserError(
      "--rollup.supervisor-http: the chain's configuration does not schedule messages between chains (lagoonTime), so there is nothing to ask",
    );
  }
  return new MessageChecks({
    supervisor: supervisorHttp === undefined ? undefined : createMessageSupervisor(supervisorHttp, supervisorSafetyLevel),
    isActiveAt,
    nowSec: () => Math.floor(clock.unixMs() / 1000),
    refusal: (reason) => rpcErrorOf(profile.errors.submission({ kind: "message-refused", reason })),
    log,
    metrics,
  });
}
