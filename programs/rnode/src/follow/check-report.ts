import type { SyncStatus } from "@rnode/node-clients";
import type { L2BlockRef, RollupConfig } from "@rnode/protocol";
import type { SourceReport, SourceTrouble } from "./follow-source.ts";

type ReportVerdict = { readonly kind: "report"; readonly report: SourceReport } | ({ readonly kind: "trouble" } & SourceTrouble);

const ZERO_HASH = /^0x0{64}$/;
const isKnown = ({ hash }: { readonly hash: string }): boolean => !ZERO_HASH.test(hash);

const invalid = (reason: string): ReportVerdict => ({ kind: "trouble", result: "error_invalid_state", reason });

/**
 * What can be checked of a source's status without L1 and the engine: the order of its heads, and that they can be blocks of this chain.
 * Spec: docs/protocol/05-services.md#light-mode
 */
export function checkReport(
  { localSafeL2: localSafe, safeL2: safe, finalizedL2: finalized, currentL1 }: SyncStatus,
  config: Pick<RollupConfig, "genesis" | "blockTimeSec">,
): ReportVerdict {
  if (localSafe === undefined) {
    return invalid("its status has no local_safe_l2: it is older than light mode, update it, or name another source");
  }
  if (![localSafe, safe, finalized].every(isKnown)) return invalid("it does not know its own heads yet");
  // While it finds its heads anew, it shows labels that L1 may have taken back.
  if (!isKnown(currentL1)) return invalid("it does not say how far it has read L1 (current_l1), as while it finds its heads");
  if (safe.number > localSafe.number)
    return invalid(`its safe block ${safe.number} is above its local safe block ${localSafe.number}`);
  if (finalized.number > safe.number)
    return invalid(`its finalized block ${finalized.number} is above its safe block ${safe.number}`);
  for (const [name, block] of [
    ["local safe", localSafe],
    ["safe", safe],
    ["finalized", finalized],
  ] as const) {
    const fault = foreignBlock(block, config);
    if (fault !== undefined) return invalid(`its ${name} block ${block.number} ${fault}`);
  }
  const contradiction = [
    [safe, localSafe],
    [finalized, safe],
  ].find(([low, high]) => low!.number === high!.number && low!.hash !== high!.hash);
  if (contradiction !== undefined)
    return invalid(`it names two blocks ${contradiction[0]!.number}: ${contradiction[0]!.hash} and ${contradiction[1]!.hash}`);
  return { kind: "report", report: { localSafe, safe, finalized, currentL1 } };
}

/** Why a block cannot be one of this chain, by its number, time and, at the genesis, hash. */
function foreignBlock(
  { number, hash, timestamp }: L2BlockRef,
  { genesis, blockTimeSec }: Pick<RollupConfig, "genesis" | "blockTimeSec">,
): string | undefined {
  if (number < genesis.l2.number) return `is before the chain's first block ${genesis.l2.number}`;
  if (number === genesis.l2.number && hash !== genesis.l2.hash) return `is ${hash}, but the chain starts from ${genesis.l2.hash}`;
  const expected = genesis.l2TimeSec + (number - genesis.l2.number) * blockTimeSec;
  return timestamp === expected ? undefined : `has time ${timestamp} instead of ${expected}`;
}
