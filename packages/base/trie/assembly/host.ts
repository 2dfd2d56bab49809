/** The functions that the trie calls in its host; see src/linear/trie-module.ts. */

/**
 * Writes the RLP of a node to ROW_BUFFER.
 *
 * @param owner pointer to 32 bytes; 0: the account trie
 * @param depth number of nibbles at PATH
 * @param hash pointer to the node's hash
 * @param key pointer to the key that the node's leaf has if it is one that is changed or looked for, 32 bytes; 0: there is none
 * @returns its size, at most ROW_BUFFER_SIZE. Throws if the node is missing
 */
@external("host", "readNode") export declare function hostReadNode(owner: u32, depth: u32, hash: u32, key: u32): u32;
/** Whether `hostHashAll` is available. */
@external("host", "hasLanes") export declare const hostHasLanes: bool;
/**
 * Writes keccak256 of `count` messages to `digests`, 32 bytes each. The messages are consecutive in the `size` bytes at
 * `messages`. `ends` is a multiple of 4: the end offset of each message, a u32 each.
 */
@external("host", "hashAll") export declare function hostHashAll(
  messages: u32,
  size: u32,
  ends: u32,
  count: u32,
  digests: u32,
): void;
/** The last read bytes, or those of a node inside its parent, are not a node of a state trie; throws. */
@external("host", "badNode") export declare function hostBadNode(): void;
/** Linear memory cannot grow any more; throws. */
@external("host", "outOfMemory") export declare function hostOutOfMemory(): void;
