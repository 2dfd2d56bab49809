import { endianness } from "node:os";
import { compareBytes } from "@rnode/primitives";

const [PLACE, PREFIX] = endianness() === "LE" ? ([0, 1] as const) : ([1, 0] as const);
/** So few keys are compared with each other. */
const FEW = 12;

/**
 * The numbers from 0 to `count` − 1 in ascending order of their keys. PERF: 64-bit numbers, with four bytes of a key above the place, are
 * sorted without a function call per comparison. Keys with the same four bytes, such as the slots of one account, are sorted by the next
 * four in the same way.
 *
 * @param keyOf the key of a place; all have `keyBytes` bytes
 */
export function ascendingPlaces(count: number, keyBytes: number, keyOf: (place: number) => Uint8Array): Uint32Array {
  const places = Uint32Array.from({ length: count }, (_, place) => place);
  sortPart(places, 0, keyBytes, keyOf);
  return places;
}

function sortPart(places: Uint32Array, from: number, keyBytes: number, keyOf: (place: number) => Uint8Array): void {
  const count = places.length;
  if (count < 2) return;
  if (count <= FEW || from >= keyBytes) {
    places.sort((a, b) => compareBytes(keyOf(a), keyOf(b)));
    return;
  }
  const pairs = new Uint32Array(2 * count);
  for (let i = 0; i < count; i++) {
    const place = places[i]!;
    const key = keyOf(place);
    let prefix = 0;
    for (let j = from; j < from + 4; j++) prefix = (prefix << 8) | (j < keyBytes ? key[j]! : 0);
    pairs[2 * i + PLACE] = place;
    pairs[2 * i + PREFIX] = prefix >>> 0;
  }
  new BigUint64Array(pairs.buffer).sort();
  for (let i = 0; i < count; i++) places[i] = pairs[2 * i + PLACE]!;
  if (from + 4 >= keyBytes) return;
  for (let start = 0; start < count; ) {
    let end = start + 1;
    while (end < count && pairs[2 * end + PREFIX] === pairs[2 * start + PREFIX]) end++;
    if (end - start > 1) sortPart(places.subarray(start, end), from + 4, keyBytes, keyOf);
    start = end;
  }
}
