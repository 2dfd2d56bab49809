import type { StateChanges } from "@rnode/evm";
import type { StateTrieUpdate } from "@rnode/trie";
import type { LiveRoots } from "./live-roots.ts";
import type { LiveStateTrie } from "./live-state-trie.ts";
import { type ParentTrie, stateUpdate } from "./state-root.ts";

/** Where nodes are kept from block to block for live blocks. Without either, each block reads everything it needs. */
export interface LiveTries {
  readonly stateTrie?: LiveStateTrie;
  /** the thread that computes the roots of blocks that are not small */
  readonly liveRoots?: LiveRoots | undefined;
}

/**
 * Like `stateUpdate`, for a block whose child is likely to be next.
 *
 * @returns a function that waits for the update or computes it; it may be called at most once, before the next update begins
 */
export function beginLiveStateUpdate(tries: LiveTries, parent: ParentTrie, changes: StateChanges): () => StateTrieUpdate {
  const { liveRoots, stateTrie } = tries;
  const updateHere = (): StateTrieUpdate => stateTrie?.update(parent, changes) ?? stateUpdate(parent, changes);
  const pending = parent.base && liveRoots?.begin({ base: parent.base(), parentStateRoot: parent.stateRoot }, changes);
  if (pending === undefined) return updateHere;
  stateTrie?.clear();
  return () => pending.wait() ?? updateHere();
}
