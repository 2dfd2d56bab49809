import type { StateView } from "@rnode/storage";
import { type ReadBackend, requireState } from "../backend/backend.ts";

/**
 * Finds, by binary search, the first block after which something holds that holds in all later blocks.
 * @returns undefined: it does not hold at the head
 * @throws {RpcError} a state was pruned
 */
export function firstBlockWith(backend: ReadBackend, holds: (state: StateView) => boolean): number | undefined {
  const holdsAfter = (number: number): boolean => holds(requireState(backend, { kind: "number", number }).state);
  let after = backend.chain.head().number;
  if (!holdsAfter(after)) return undefined;
  let before = -1; // it may hold in the genesis
  while (after - before > 1) {
    const middle = Math.floor((before + after) / 2);
    if (holdsAfter(middle)) after = middle;
    else before = middle;
  }
  return after;
}
