import type { L1Provider } from "@rnode/derivation";
import type { L2Blocks } from "@rnode/node-clients";
import type { Logger } from "@rnode/observe";
import type { BlockId, L2BlockRef } from "@rnode/protocol";
import type { SafeHeadEntry } from "./safe-head-database.ts";

export interface SafeStartDeps {
  readonly l1: Pick<L1Provider, "blockByNumber">;
  readonly l2: Pick<L2Blocks, "blockByLabel" | "blockRefByNumber">;
  readonly log: Logger;
}

/** The entries of the safe-head database, as a start needs them. */
export interface SafeHeadRecord {
  readonly first: SafeHeadEntry | undefined;
  readonly last: SafeHeadEntry | undefined;
  lastUpTo(l1Number: number): SafeHeadEntry | undefined;
}

export type SafeStart =
  | {
      readonly kind: "found";
      readonly unsafe: L2BlockRef;
      readonly safe: L2BlockRef;
      readonly finalized: L2BlockRef;
      readonly highestFormerSafe: L2BlockRef;
      /** the L1 block whose data made `safe` the safe head */
      readonly derivedFrom: BlockId;
    }
  /** L1 does not have the block yet that the newest entry is about: an endpoint that is behind, or a reorganisation under way */
  | { readonly kind: "l1-behind"; readonly needs: number }
  /** the record does not help: the heads must be found without it */
  | { readonly kind: "unknown"; readonly reason: string };

/**
 * Finds the heads with the safe-head database: a recorded safe head is valid if its L1 block is still canonical, because then all
 * earlier data is, too. It searches by bisection, so the number of requests grows with the logarithm of the distances. Spec:
 * docs/protocol/02-derivation.md#reset-and-sync-start
 *
 * @throws the errors of the providers
 */
export async function startFromRecord(record: SafeHeadRecord, deps: SafeStartDeps, genesis: BlockId): Promise<SafeStart> {
  const { l1, l2, log } = deps;
  const { first, last } = record;
  if (first === undefined || last === undefined) return { kind: "unknown", reason: "nothing is recorded yet" };
  const unsafeHead = (await l2.blockByLabel("latest"))?.ref;
  const safeLabel = (await l2.blockByLabel("safe"))?.ref;
  const finalized = (await l2.blockByLabel("finalized"))?.ref ?? (await l2.blockRefByNumber(genesis.number));
  if (unsafeHead === undefined || finalized === undefined) return { kind: "unknown", reason: "the engine has no head" };
  if (finalized.number > unsafeHead.number) return { kind: "unknown", reason: "the engine was rewound" };

  const l1AtLast = await l1.blockByNumber(last.l1Block.number);
  if (l1AtLast === undefined) return { kind: "l1-behind", needs: last.l1Block.number };
  const canonical = async ({ number, hash }: BlockId): Promise<boolean> => (await l1.blockByNumber(number))?.hash === hash;
  const holds = async ({ l1Block, safeHead }: SafeHeadEntry): Promise<boolean> =>
    safeHead.number <= unsafeHead.number &&
    (await l2.blockRefByNumber(safeHead.number))?.hash === safeHead.hash &&
    (await canonical(l1Block));

  let entry: SafeHeadEntry = last;
  /** the entry after it, whose block the engine or whose L1 block L1 no longer has */
  let lost: SafeHeadEntry | undefined;
  if (!(await holds(last))) {
    const found = await lastThatHolds(record, first, last, holds);
    if (found === undefined) return { kind: "unknown", reason: "no recorded safe head is still in the chain" };
    ({ entry, lost } = found);
  }
  const recorded = await l2.blockRefByNumber(entry.safeHead.number);
  if (recorded === undefined) return { kind: "unknown", reason: "the engine was rewound" };

  // The engine's safe label is beyond all entries. Either the last process was killed before it recorded these blocks, or the
  // engine lost the newest blocks of an L1 block in a crash, and the record of that L1 block has only the newest.
  const isBeyondEntry = safeLabel !== undefined && safeLabel.number > recorded.number && safeLabel.number <= unsafeHead.number;
  const isKnownSafe =
    isBeyondEntry &&
    (lost === undefined
      ? safeLabel.l1Origin.number <= entry.l1Block.number && (await canonical(safeLabel.l1Origin))
      : safeLabel.number < lost.safeHead.number && (await canonical(lost.l1Block)));
  const safe = isKnownSafe ? safeLabel : recorded;
  const derivedFrom = (isKnownSafe && lost !== undefined ? lost : entry).l1Block;
  if (safe.number < finalized.number) return { kind: "unknown", reason: "the engine's finalized head is above the record" };
  const unsafe = await lastOfCanonicalOrigin(safe, unsafeHead, deps);
  // Where L1 itself was reorganised, former safe blocks may be replaced.
  const highestFormerSafe = entry === last && safeLabel !== undefined && safeLabel.number > safe.number ? safeLabel : safe;
  log.info("starting from the safe-head database", {
    safe: safe.number,
    derivedFrom: derivedFrom.number,
    ...(entry === last ? {} : { newestEntry: last.l1Block.number }),
    ...(unsafe.hash === unsafeHead.hash ? {} : { unsafe: unsafe.number, unsafeBefore: unsafeHead.number }),
  });
  return {
    kind: "found",
    unsafe,
    safe,
    finalized,
    highestFormerSafe: highestFormerSafe.number <= unsafe.number ? highestFormerSafe : safe,
    derivedFrom,
  };
}

/** Entries hold up to some L1 block, and not after it: the newest one that does, and the one after it. */
async function lastThatHolds(
  record: SafeHeadRecord,
  first: SafeHeadEntry,
  last: SafeHeadEntry,
  holds: (entry: SafeHeadEntry) => Promise<boolean>,
): Promise<{ entry: SafeHeadEntry; lost: SafeHeadEntry } | undefined> {
  if (!(await holds(first))) return undefined;
  let good = first;
  let lost = last;
  /** there is no entry after `good` up to this L1 block */
  let searchedTo = first.l1Block.number;
  let badFrom = last.l1Block.number;
  while (badFrom - searchedTo > 1) {
    const middle = Math.floor((searchedTo + badFrom) / 2);
    const entry = record.lastUpTo(middle) ?? good;
    if (entry.l1Block.number <= good.l1Block.number) {
      searchedTo = middle;
    } else if (await holds(entry)) {
      good = entry;
      searchedTo = middle;
    } else {
      badFrom = entry.l1Block.number;
      lost = entry;
    }
  }
  return { entry: good, lost };
}

/**
 * The newest block up to `head`, and from `safe` on, whose L1 origin is not known to be replaced: origins are canonical up to some block, and after it either
 * replaced, or ahead of what L1 has by now, which is no contradiction.
 */
async function lastOfCanonicalOrigin(
  safe: L2BlockRef,
  head: L2BlockRef,
  { l1, l2 }: { readonly l1: SafeStartDeps["l1"]; readonly l2: Pick<SafeStartDeps["l2"], "blockRefByNumber"> },
): Promise<L2BlockRef> {
  type Verdict = "canonical" | "ahead" | "replaced";
  const verdictOf = async ({ l1Origin }: L2BlockRef): Promise<Verdict> => {
    const block = await l1.blockByNumber(l1Origin.number);
    if (block === undefined) return "ahead";
    return block.hash === l1Origin.hash ? "canonical" : "replaced";
  };
  const ofHead = await verdictOf(head);
  if (ofHead === "canonical" || head.number <= safe.number) return head;
  let good = safe;
  let bad = head;
  let ofBad: Verdict = ofHead;
  while (bad.number - good.number > 1) {
    const middle = await l2.blockRefByNumber(Math.floor((good.number + bad.number) / 2));
    if (middle === undefined) return good; // the engine was rewound meanwhile: this much is certain
    const verdict = await verdictOf(middle);
    if (verdict === "canonical") good = middle;
    else [bad, ofBad] = [middle, verdict];
  }
  return ofBad === "ahead" ? head : good;
}
