/** First attempt of an eviction: the nodes of this many last passes are kept. */
const PASSES_KEPT = 64;
/** PERF: an eviction goes this far below the limit, so it is not needed in every update. */
const KEPT_PART = 0.6;

/**
 * Evicts nodes of a trie with more than `maxNodes`, the least recently used ones first.
 *
 * @param pinned nodes of this many last passes stay
 * @param keep discards the nodes that this many last passes did not visit
 * @returns number of the last passes whose nodes are all in memory; infinity if nothing was discarded
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
