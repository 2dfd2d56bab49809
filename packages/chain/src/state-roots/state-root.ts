import type { StateChanges } from "@rnode/evm";
import { bytesToHex, EMPTY_TRIE_ROOT } from "@rnode/primitives";
import { PREDEPLOYS } from "@rnode/protocol";
import { type LiveStateTrie, type StateTrieUpdate, type TrieNodeReader, updateStateTrie } from "@rnode/trie";
import type { LiveRoots } from "./live-roots.ts";
import type { RootBase } from "./live-roots-builder.ts";

/** The state from which a block starts, as the trie sees it. */
export interface ParentTrie {
  readonly stateRoot: Uint8Array;
  readonly nodes: TrieNodeReader;
  /** undefined: there is no such account */
  storageRootOf(address: Uint8Array): Uint8Array | undefined;
  /** the last canonical block at or below the parent; absent if the state belongs to no chain */
  readonly base?: () => RootBase;
}

/** @throws {CodedError} trie/missing-node */
export function stateUpdate(parent: ParentTrie, changes: StateChanges): StateTrieUpdate {
  return updateStateTrie(parent.nodes, parent.stateRoot, changes.accounts, (address) => parent.storageRootOf(address));
}

/** The default limit for trie nodes in memory. */
export const MAX_STATE_TRIE_NODES = 100_000;
/** Measured: 730 bytes of objects and 140 to 250 bytes of buffers per node. */
export const ROUGH_NODE_BYTES = 900;
/** The same in the threads that compute state roots, in linear memory. Measured: 250 to 290 bytes. */
export const ROUGH_LINEAR_NODE_BYTES = 300;

/** Where nodes are kept from block to block for live blocks. Without either, each block reads everything it needs. */
export interface LiveTries {
  readonly stateTrie?: LiveStateTrie;
  readonly maxStateTrieNodes?: number;
  /** the thread that computes the roots of blocks that are not small */
  readonly liveRoots?: LiveRoots | undefined;
}

/**
 * Like `stateUpdate`, for a block whose child is likely to be next, so its nodes stay in memory. PERF: the next block reads only what
 * this one did not touch.
 *
 * @returns a function that waits for the update or computes it; it may be called at most once, before the next update begins
 */
export function beginLiveStateUpdate(tries: LiveTries, parent: ParentTrie, changes: StateChanges): () => StateTrieUpdate {
  const { liveRoots, stateTrie } = tries;
  const pending = parent.base && liveRoots?.begin({ base: parent.base(), parentStateRoot: parent.stateRoot }, changes);
  if (pending === undefined) return () => updateHere(tries, parent, changes);
  stateTrie?.clear();
  return () => pending.wait() ?? updateHere(tries, parent, changes);
}

function updateHere(
  { stateTrie: trie, maxStateTrieNodes = MAX_STATE_TRIE_NODES }: LiveTries,
  parent: ParentTrie,
  changes: StateChanges,
): StateTrieUpdate {
  if (trie === undefined) return stateUpdate(parent, changes);
  const update = trie.update(parent.nodes, parent.stateRoot, changes.accounts, (address) => parent.storageRootOf(address));
  trie.evict(maxStateTrieNodes);
  return update;
}

const MESSAGE_PASSER_HEX = bytesToHex(PREDEPLOYS.l2ToL1MessagePasser);

/**
 * Isthmus: the header's withdrawals root is the message passer's storage root after the block.
 * Spec: docs/protocol/01-execution.md#header-and-body-validity
 */
export function messagePasserRoot(
  parent: Pick<ParentTrie, "storageRootOf">,
  update: Pick<StateTrieUpdate, "storageRoots">,
): Uint8Array {
  return update.storageRoots.get(MESSAGE_PASSER_HEX) ?? parent.storageRootOf(PREDEPLOYS.l2ToL1MessagePasser) ?? EMPTY_TRIE_ROOT;
}
