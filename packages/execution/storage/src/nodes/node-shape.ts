/*
 * Positions of the parts of a stored trie node. The bytes come from the trie or from the database, so they are not checked. A
 * branch is a list of 17 items, a leaf and an extension are lists of two.
 */

export const EMPTY_ITEM = 0x80;
/** The first byte of a string of 32 bytes: a hash. */
export const HASH_ITEM = 0xa0;
export const HASH_SIZE = 32;
export const CHILDREN = 16;

/** A branch without children. */
export const EMPTY_BRANCH = new Uint8Array(1 + CHILDREN + 1).fill(EMPTY_ITEM);
EMPTY_BRANCH[0] = 0xc0 + CHILDREN + 1;

/** The end of the item at `at`. */
export function itemEnd(bytes: Uint8Array, at: number): number {
  const first = bytes[at]!;
  if (first < 0x80) return at + 1;
  if (first < 0xb8) return at + 1 + first - 0x80;
  if (first < 0xc0) return longEnd(bytes, at, first - 0xb7);
  return first < 0xf8 ? at + 1 + first - 0xc0 : longEnd(bytes, at, first - 0xf7);
}

function longEnd(bytes: Uint8Array, at: number, sizeBytes: number): number {
  let size = 0;
  for (let i = 1; i <= sizeBytes; i++) size = size * 256 + bytes[at + i]!;
  return at + 1 + sizeBytes + size;
}

/** Where the content of the string or list at `at` starts. */
export function contentAt(bytes: Uint8Array, at: number): number {
  const first = bytes[at]!;
  if (first < 0x80) return at;
  if (first < 0xb8) return at + 1;
  if (first < 0xc0) return at + 1 + first - 0xb7;
  return first < 0xf8 ? at + 1 : at + 1 + first - 0xf7;
}

export function isBranch(rlp: Uint8Array): boolean {
  return itemEnd(rlp, itemEnd(rlp, contentAt(rlp, 0))) < rlp.length;
}

/** Of a node with two items. The flag is in the first nibble of the path. */
export function isLeaf(rlp: Uint8Array): boolean {
  return (rlp[contentAt(rlp, contentAt(rlp, 0))]! & 0x20) !== 0;
}

/** The encoded items of a branch, views of it. */
export function branchItems(rlp: Uint8Array): Uint8Array[] {
  const items: Uint8Array[] = [];
  for (let at = contentAt(rlp, 0); at < rlp.length; ) {
    const end = itemEnd(rlp, at);
    items.push(rlp.subarray(at, end));
    at = end;
  }
  return items;
}

/** The paths from a node to those of its children that are nodes by themselves. */
export function hashedChildren(rlp: Uint8Array): Uint8Array[] {
  if (isBranch(rlp))
    return branchItems(rlp).flatMap((item, nibble) => (item[0] === HASH_ITEM && nibble < CHILDREN ? [Uint8Array.of(nibble)] : []));
  if (isLeaf(rlp)) return [];
  const pathAt = contentAt(rlp, 0);
  const pathEnd = itemEnd(rlp, pathAt);
  return rlp[pathEnd] === HASH_ITEM ? [pathNibbles(rlp.subarray(contentAt(rlp, pathAt), pathEnd))] : [];
}

/** The nibbles of a hex-prefixed path. */
export function pathNibbles(path: Uint8Array): Uint8Array {
  const nibbles = new Uint8Array(2 * path.length);
  for (const [i, byte] of path.entries()) {
    nibbles[2 * i] = byte >> 4;
    nibbles[2 * i + 1] = byte & 0x0f;
  }
  return nibbles.subarray((nibbles[0]! & 1) === 1 ? 1 : 2);
}

export function hashItem(hash: Uint8Array): Uint8Array {
  const item = new Uint8Array(1 + HASH_SIZE);
  item[0] = HASH_ITEM;
  item.set(hash, 1);
  return item;
}
