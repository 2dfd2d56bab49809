import type { DerivationConfig } from "@rnode/derivation";
import type { FoundHeads } from "../common/found-heads.ts";
import type { NodeBase } from "../node-base.ts";
import type { Start } from "../verification.ts";
import { type FindHeadsDeps, headsFinder, withOwnLabels } from "./find-heads.ts";
import { SafeChainCheck } from "./safe-chain-check.ts";
import type { SafeHeadDatabase } from "./safe-head-database.ts";
import { SafeHeadWatch } from "./safe-head-watch.ts";
import { SafeHeads } from "./safe-heads.ts";

export interface SafeDeps {
  readonly derivation: DerivationConfig;
  /** `undefined`: no record of safe heads is kept */
  readonly database: SafeHeadDatabase | undefined;
  /** L2 blocks between the tip and the safe head of an engine without labels */
  readonly labelsBehindTip: number;
  /** changes where to start; default: nothing */
  readonly adjustStart?: ((start: Start, chains: Pick<FindHeadsDeps, "l1" | "l2">) => Promise<FoundHeads>) | undefined;
}

export interface SafeParts {
  readonly safeHeads: SafeHeads;
  readonly safeChain: SafeChainCheck;
  readonly safeHeadWatch: SafeHeadWatch;
  /** the safe-head database, where L1 alone decides what is safe */
  readonly record: SafeHeadDatabase | undefined;
  /** the heads to start from, and the records after them forgotten */
  readonly findHeads: () => Promise<FoundHeads>;
}

/** The parts that know which blocks are safe. */
export function createSafe(
  { derivation, database, labelsBehindTip, adjustStart = async (start) => start }: SafeDeps,
  { config, clock, log, metrics, control, l1View, progress, signals, connections: { l1, l2 } }: NodeBase,
): SafeParts {
  const safeHeads = new SafeHeads({
    database,
    config,
    l1,
    l1Head: () => l1View.head,
    onFault: (reason) => signals.requestReset(reason),
  });
  // What data outside of L1 has made safe can be taken back while L1 stays as it is: the record does not say so.
  const record = config.altDa === undefined ? database : undefined;
  const labelled = withOwnLabels(l2, () => control.headsIfKnown);
  const find = headsFinder(derivation, { l1, l2: labelled, labelsBehindTip }, log, record);
  const safeChain = new SafeChainCheck({ config, l1, l2, recordedAfter: (base) => safeHeads.after(base), log });
  const safeHeadWatch = new SafeHeadWatch({ config, clock, log });
  metrics.observeSafeHead(() => safeHeadWatch.state);
  const findHeads = async (): Promise<FoundHeads> => {
    progress.onReset();
    const first = await find(safeChain.rewind);
    if (first.kind !== "found") return first;
    const start = await adjustStart(first, { l1, l2: labelled });
    if (start.kind !== "found") return start;
    const found = await safeChain.takenBack(start);
    if (found.kind !== "found") return found;
    safeChain.beforeReset(found.base);
    return (await safeHeads.reset(found)) ?? found;
  };
  return { safeHeads, safeChain, safeHeadWatch, record, findHeads };
}
