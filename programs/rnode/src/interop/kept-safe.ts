import type { L2BlockRef } from "@rnode/protocol";
import type { FoundHeads } from "../common/found-heads.ts";

/**
 * The heads to start from where a supervisor decides what is safe: a block that it has called safe stays so until it says otherwise. To
 * derive it again would be wrong, because L1 alone does not say which blocks were replaced.
 *
 * @param found heads whose safe block may be one from which everything can be derived again
 */
export function withCrossSafeKept(
  found: Extract<FoundHeads, { kind: "found" }>,
  isSupervised: (block: L2BlockRef) => boolean,
): Extract<FoundHeads, { kind: "found" }> {
  const { safe, highestFormerSafe } = found;
  if (highestFormerSafe.number <= safe.number || !isSupervised(highestFormerSafe)) return found;
  return { ...found, safe: highestFormerSafe, base: highestFormerSafe, derivedFrom: undefined };
}
