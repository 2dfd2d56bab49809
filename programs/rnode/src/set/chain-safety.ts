import type { L1BlockRef, RollupConfig } from "@rnode/protocol";
import type { CrossSafety } from "../common/cross-safety.ts";
import type { SetDatabase } from "./set-database.ts";

export interface ChainSafetyDeps {
  readonly database: SetDatabase;
  readonly config: Pick<RollupConfig, "l2ChainId">;
  /** of the first round, in seconds */
  readonly startSec: number;
  readonly onL1Head: (block: L1BlockRef) => void;
}

/** What the set says of one of its chains. */
export function chainSafety({ database, config: { l2ChainId }, startSec, onL1Head }: ChainSafetyDeps): CrossSafety {
  return {
    decidesAt: (timestamp) => timestamp >= startSec,
    verified: () => database.verified.last?.heads.get(l2ChainId),
    verifiedBy: (l1Number) => {
      const round = database.verified.derivedUpTo(l1Number);
      const block = round?.heads.get(l2ChainId);
      return block && { block, l1: round!.l1 };
    },
    isDenied: (number, hash) =>
      hash === undefined ? database.denied.at(l2ChainId, number) !== undefined : database.denied.has(l2ChainId, number, hash),
    get verdicts() {
      return database.denied.verdicts;
    },
    *denied() {
      for (const { block } of database.denied.list(l2ChainId)) yield block;
    },
    rederivedAfter: () => database.rederivedAfter(l2ChainId),
    rederives: () => database.atomically(() => database.setRederivedAfter(l2ChainId, undefined), { isFlushed: true }),
    onL1Head,
  };
}
