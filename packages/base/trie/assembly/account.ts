/** RLP of an account: the last items are its storage root and its code hash, 33 bytes each. */

/** Distance from the end to the storage root's 32 bytes. */
@inline export const ROOT_FROM_END: u32 = 65;
/** Both items with their headers. */
@inline export const CODE_HASH_AND_ROOT: u32 = 66;
