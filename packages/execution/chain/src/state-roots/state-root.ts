import type { StateChanges } from "@rnode/evm";
import { bytesToHex, EMPTY_TRIE_ROOT } from "@rnode/primitives";
import { PREDEPLOYS } from "@rnode/protocol";
import { type StateTrieUpdate, type TrieNodeReader, updateStateTrie } from "@rnode/trie";
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
