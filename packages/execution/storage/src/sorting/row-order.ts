import { endianness } from "node:os";
import { compareBytes } from "@rnode/primitives";

const [PLACE, PREFIX] = endianness() === "LE" ? ([0, 1] as const) : ([1, 0] as const);
/** So few keys are compared with each other. */
const FEW = 12;

/** Rows that start with their keys, in pages of as many rows each. */
export interface PagedRows {
  readonly pages: readonly Uint8Array[];
  readonly pageRows: number;
  readonly rowBytes: number;
  readonly keyBytes: number;
}

/**
 * The numbers from 0 to `count` − 1 in ascending order of their rows' keys. PERF: 64-bit numbers, with four bytes of a key above the place, are
 * sorted without a function call per comparison. Keys with the same four bytes, such as the slots of one account, are sorted by the next
 * four in the same way.
 */
export function ascendingPlaces(count: number, rows: PagedRows): Uint32Array {
  const places = Uint32Array.from({ length: count }, (_, place) => place);
  sortPart(places, 0, rows);
  return places;
}

function sortPart(places: Uint32Array, start: number, rows: PagedRows): void {
  const { pages, pageRows, rowBytes, keyBytes } = rows;
  const count = places.length;
  if (count < 2) return;
  const keyOf = (place: number): Uint8Array => {
    const at = (place % pageRows) * rowBytes;
    return pages[Math.floor(place / pageRows)]!.subarray(at, at + keyBytes);
  };
  if (count <= FEW) {
    places.sort((a, b) => compareBytes(keyOf(a), keyOf(b)));
    return;
  }
  const pairs = new Uint32Array(2 * count);
  let from = start;
  for (let isSame = true; isSame; from += 4) {
    if (from >= keyBytes) return;
    for (let i = 0; i < count; i++) {
      const place = places[i]!;
      const page = pages[Math.floor(place / pageRows)]!;
      const at = (place % pageRows) * rowBytes + from;
      let prefix = 0;
      for (let j = 0; j < 4; j++) prefix = (prefix << 8) | (from + j < keyBytes ? page[at + j]! : 0);
      pairs[2 * i + PLACE] = place;
      pairs[2 * i + PREFIX] = prefix >>> 0;
      isSame &&= pairs[2 * i + PREFIX] === pairs[PREFIX];
    }
  }
  new BigUint64Array(pairs.buffer).sort();
  for (let i = 0; i < count; i++) places[i] = pairs[2 * i + PLACE]!;
  if (from >= keyBytes) return;
  for (let start = 0; start < count; ) {
    let end = start + 1;
    while (end < count && pairs[2 * end + PREFIX] === pairs[2 * start + PREFIX]) end++;
    if (end - start > 1) sortPart(places.subarray(start, end), from, rows);
    start = end;
  }
}
