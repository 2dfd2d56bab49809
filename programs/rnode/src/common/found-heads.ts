import type { BlockId, L2BlockRef } from "@rnode/protocol";
import type { Trouble } from "./progress.ts";

/** The heads to start from, as found in the engine and on L1. */
export type FoundHeads =
  | {
      readonly kind: "found";
      readonly unsafe: L2BlockRef;
      readonly safe: L2BlockRef;
      readonly finalized: L2BlockRef;
      /** the highest block that was labelled safe before; derivation from L1 has to confirm it again */
      readonly highestFormerSafe: L2BlockRef;
      /** where derivation starts: the safe block, or an earlier block if the safe chain has to be derived again */
      readonly base: L2BlockRef;
      /** the L1 block whose data made `base` the safe head, where that is recorded */
      readonly derivedFrom?: BlockId | undefined;
    }
  | Trouble;
