import type { StatePeer } from "@rnode/devp2p";
import { CodedError } from "@rnode/primitives";
import type { NodeAt, TrieAccount, TrieEntry } from "@rnode/trie";

/** Takes the rows of a state in any order. A later row replaces an earlier one with the same key. */
interface StateSink {
  /** @param hash keccak256 of the address */
  addAccount(hash: Uint8Array, account: TrieAccount): void;
  /** @param value without leading zeros, not empty */
  addSlot(owner: Uint8Array, hash: Uint8Array, value: Uint8Array): void;
  addCode(code: Uint8Array): void;
  hasCode(hash: Uint8Array): boolean;
}

/** "nothing": the peer does not have the state. */
export type TaskOutcome = "rows" | "nothing";

/** A part of a state that one request asks for. */
export interface StateTask {
  /** Asks a peer. @returns gives the answer to the sink, once it is verified; it throws {CodedError} sync/bad-state, trie/bad-proof, rlp/* */
  ask(peer: StatePeer, signal: AbortSignal): Promise<() => TaskOutcome>;
  /** Nothing came of it. */
  giveBack(): void;
}

/**
 * The rows of several states, which become those of one. Reads show what is committed. Hashes of nodes that the rows make are remembered, by path in nibbles:
 * of the account trie, or of the storage trie of an account. A row that changes makes those above it forgotten.
 */
export interface MixedRows extends StateSink {
  account(hash: Uint8Array): TrieAccount | undefined;
  /** Entries of a trie below a path. */
  below(owner: Uint8Array | undefined, path: Uint8Array): Iterable<TrieEntry>;
  /** `undefined`: it is not remembered */
  hashAt(owner: Uint8Array | undefined, path: Uint8Array): Uint8Array | undefined;
  /** All rows below a path are there, and make this node. */
  remember(owner: Uint8Array | undefined, node: NodeAt): void;
  /** As `addAccount`, if the account may be there. */
  changeAccount(hash: Uint8Array, account: TrieAccount): void;
  /** As `addSlot`, if the slot may be there. */
  changeSlot(owner: Uint8Array, hash: Uint8Array, value: Uint8Array): void;
  /** Removes an account and its slots. */
  removeAccount(hash: Uint8Array): void;
  removeSlot(owner: Uint8Array, hash: Uint8Array): void;
  removeSlots(owner: Uint8Array): void;
  /** The slots of the account may be of several states. */
  markDirty(hash: Uint8Array): void;
  /** Its slots are those of its storage root. */
  markClean(hash: Uint8Array): void;
  /** Accounts that are marked, from a hash on. */
  dirty(from: Uint8Array, limit: number): readonly Uint8Array[];
}

export const badState = (reason: string): CodedError => new CodedError("sync/bad-state", { reason });
