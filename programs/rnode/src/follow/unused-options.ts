import type { Logger } from "@rnode/observe";
import type { RnodeOptions } from "../options.ts";

/** Warns of options that only derivation reads. They may stay, for a node that changes between both modes. */
export function warnOfUnusedOptions({ l1, l2, verifier, finality, safedb, altda }: RnodeOptions, log: Logger): void {
  if (l2.followSource === undefined) return;
  const given: readonly (readonly [string, boolean])[] = [
    ["--safedb.path", safedb.path !== undefined],
    ["--verifier.l1-confs", verifier.l1Confs !== 0],
    ["--finality.lookback", finality.lookback !== 0],
    ["--finality.delay", finality.delay !== 0],
    ["--l1.beacon", l1.beacon !== undefined],
    ["--altda.enabled", altda.enabled],
  ];
  const options = given.flatMap(([name, isGiven]) => (isGiven ? [name] : [])).join(", ");
  if (options !== "") log.warn("options without effect in light mode (--l2.follow.source), as nothing is derived", { options });
}
