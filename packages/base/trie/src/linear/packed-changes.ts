/*
 * The changes of a block in one buffer, as `LinearStateTrie` takes them: accounts, one after the other, each address once
 *   account: address 20 ‖ flags 1 ‖ size of the RLP 1 (0: the account is gone, and its storage with it) ‖ RLP of the account (`encodeAccount`), with any
 *            storage root ‖ number of slots 4 ‖ (slot 32 ‖ value 32) each; zero deletes the slot
 */

/** The storage trie starts empty; the slots are what was written afterwards. */
export const PACKED_STORAGE_CLEARED = 1;
/** There may be nodes of a storage trie to remove: the account's owner is among `clearedOwners`. */
export const PACKED_CLEARS_NODES = 2;
/** What comes before the RLP */
export const PACKED_HEAD_SIZE = 22;
/** What comes before the slots */
export const PACKED_COUNT_SIZE = 4;
export const PACKED_SLOT_SIZE = 64;
