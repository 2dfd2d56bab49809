import type { L2Blocks } from "@rnode/node-clients";
import { isCodedError } from "@rnode/primitives";
import type { L1BlockRef } from "@rnode/protocol";
import type { FoundHeads } from "../common/found-heads.ts";
import { temporaryBy } from "../common/progress.ts";
import type { Start } from "../verification.ts";

export interface KeepLabelsDeps {
  readonly l1: { blockByNumber(number: number): Promise<L1BlockRef | undefined> };
  readonly l2: Pick<L2Blocks, "blockByLabel" | "blockRefByNumber">;
}

/**
 * Starts with the engine's safe block, where derivation would start a sequencing window earlier: nothing is derived again. Its L1 origin has to be
 * canonical.
 */
export async function keepSafeLabel(start: Start, { l1, l2 }: KeepLabelsDeps): Promise<FoundHeads> {
  try {
    const label = (await l2.blockByLabel("safe"))?.ref;
    if (label === undefined || label.number <= start.safe.number || label.number > start.unsafe.number) return start;
    const [inChain, origin] = [await l2.blockRefByNumber(label.number), await l1.blockByNumber(label.l1Origin.number)];
    if (inChain?.hash !== label.hash || origin?.hash !== label.l1Origin.hash) return start;
    return { ...start, safe: label, base: label };
  } catch (error) {
    if (!isCodedError(error)) throw error;
    return temporaryBy(error);
  }
}
