/*
 * Row of a slot:
 *   value without leading zeros, 1 to 32 bytes: no block has changed the slot since the genesis
 *   0 ‖ bytes of the value 1 ‖ value without leading zeros ‖ the last blocks that changed it (change-list.ts)
 */

const CHANGED = 0;
export const SLOT_HEADER_SIZE = 2;

/** Where the value starts. Only indexes into `row`. */
export const slotValueAt = (row: Uint8Array): number => (row[0] === CHANGED ? SLOT_HEADER_SIZE : 0);

/** Where the value ends, and the list of blocks starts. Only indexes into `row`. */
export const slotValueEnd = (row: Uint8Array): number => (row[0] === CHANGED ? SLOT_HEADER_SIZE + row[1]! : row.length);

/** Writes the header before the value of a slot with a list. */
export function writeSlotHeader(out: Uint8Array, size: number): void {
  out[0] = CHANGED;
  out[1] = size;
}

/** The value as 32 bytes. Only indexes into `bytes`. */
export function toWord(bytes: Uint8Array, at: number, size: number): Uint8Array {
  const word = new Uint8Array(32);
  for (let i = 0; i < size; i++) word[32 - size + i] = bytes[at + i]!;
  return word;
}
