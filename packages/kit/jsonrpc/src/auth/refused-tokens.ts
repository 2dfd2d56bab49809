import type { Logger } from "@rnode/observe";
import type { CheckToken } from "./jwt.ts";

const INTERVAL_MS = 60_000;

/**
 * Logs requests that are refused for their token: the first at once, then their number, at most once a minute, so an operator
 * with two different secrets finds the mistake.
 */
export function logRefusedTokens(
  check: CheckToken,
  { log, nowMs }: { readonly log: Pick<Logger, "warn">; readonly nowMs: () => number },
): CheckToken {
  let refused = 0;
  let saidAtMs = Number.NEGATIVE_INFINITY;
  return (authorization) => {
    const verdict = check(authorization);
    if (verdict.kind !== "refused") return verdict;
    refused++;
    const now = nowMs();
    if (now - saidAtMs >= INTERVAL_MS) {
      saidAtMs = now;
      log.warn("a request is refused (401): its token does not belong to our JWT secret, or the clocks differ", {
        reason: verdict.reason,
        refused,
      });
      refused = 0;
    }
    return verdict;
  };
}
