/*
 * The changes of a block in one buffer, the input of `LinearStateTrie`: consecutive accounts, each address once
 *  account: address 20 ‖ flags 1 ‖ size of the RLP 1 (0: the account and its storage are deleted) ‖ RLP of the account
 *  (`encodeAccount`),
 *    with any storage root ‖ number of slots 4 ‖ (slot 32 ‖ value 32) each; zero deletes the slot
 */

/** The storage trie starts empty; the slots were written afterwards. */
export const PACKED_STORAGE_CLEARED = 1;
/** A storage trie can have nodes to remove: the account's owner is in `clearedOwners`. */
export const PACKED_CLEARS_NODES = 2;
/** Size of the fields before the RLP */
export const PACKED_HEAD_SIZE = 22;
/** Size of the field before the slots */
export const PACKED_COUNT_SIZE = 4;
export const PACKED_SLOT_SIZE = 64;
