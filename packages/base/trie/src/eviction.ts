/** If there are too many nodes, those of this many last passes are kept at first. */
const PASSES_KEPT = 64;
/** PERF: how far below the limit to go, so that not every update has to evict nodes. */
const KEPT_PART = 0.6;

/**
 * Evicts nodes of a trie that has more than `maxNodes`, the least recently used ones first.
 *
 * @param pinned nodes of this many last passes stay
 * @param keep discards the nodes that this many last passes did not visit
 * @returns how many of the last passes still have all their nodes; infinity: nothing was discarded
 */
export function evictionSteps(
  trie: { readonly nodeCount: number },
  maxNodes: number,
  pinned: number,
  keep: (passes: number) => void,
): number {
  if (trie.nodeCount <= maxNodes) return Number.POSITIVE_INFINITY;
  for (let passes = Math.max(PASSES_KEPT, pinned); ; passes = Math.max(passes >> 2, pinned)) {
    keep(passes);
    if (trie.nodeCount <= maxNodes * KEPT_PART || passes === pinned) return passes;
  }
}
