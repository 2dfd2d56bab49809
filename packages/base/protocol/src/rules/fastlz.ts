const TABLE_BITS = 13;
const TABLE_MASK = (1 << TABLE_BITS) - 1;
const HASH_SHIFT = 32 - TABLE_BITS;
const HASH_FACTOR = 2654435769;
const MAX_DISTANCE = 8191;
const MAX_MATCH = 262;
/** The compressor stops searching this many bytes before the end of the input. */
const TAIL_BYTES = 13;
const MATCH_MARGIN = 9;

// PERF: all calls share one table; clearing it takes less than half a microsecond.
const lastPosition = new Int32Array(1 << TABLE_BITS);

/**
 * The number of bytes to which FastLZ level 1 would compress `data`. Spec: docs/protocol/01-execution.md#transaction-data-metrics
 *
 * PERF: runs once per transaction of a block; about 10 ns per byte, no allocation.
 */
export function flzCompressLength(data: Uint8Array): number {
  const limit = Math.max(data.length - TAIL_BYTES, 0);
  let length = 0;
  let anchor = 0;
  let position = 2;
  if (position < limit) lastPosition.fill(0);
  while (position < limit) {
    let reference = 0;
    for (;;) {
      const group = groupAt(data, position);
      const key = hashOf(group);
      reference = lastPosition[key]!;
      lastPosition[key] = position;
      const distance = position - reference;
      if (position >= limit) break;
      position++;
      if (distance <= MAX_DISTANCE && group === groupAt(data, reference)) break;
    }
    if (position >= limit) break;
    position--;
    if (position > anchor) length += literalsLength(position - anchor);
    const matched = matchLength(data, reference + 3, position + 3, limit + MATCH_MARGIN);
    length += encodedMatchLength(matched);
    position += matched;
    lastPosition[hashOf(groupAt(data, position))] = position;
    position++;
    lastPosition[hashOf(groupAt(data, position))] = position;
    position++;
    anchor = position;
  }
  return length + literalsLength(data.length - anchor);
}

/** Three bytes, little-endian. */
function groupAt(data: Uint8Array, at: number): number {
  return data[at]! | (data[at + 1]! << 8) | (data[at + 2]! << 16);
}

function hashOf(group: number): number {
  return (Math.imul(HASH_FACTOR, group) >>> HASH_SHIFT) & TABLE_MASK;
}

/**
 * Number of equal bytes from `left` and `right` up to `end`, plus one for the first difference, as in the reference compressor.
 */
function matchLength(data: Uint8Array, left: number, right: number, end: number): number {
  const most = end - right;
  for (let count = 0; count < most; count++) if (data[left + count] !== data[right + count]) return count + 1;
  return Math.max(most, 0);
}

function encodedMatchLength(matched: number): number {
  const rest = matched - 1;
  return 3 * Math.floor(rest / MAX_MATCH) + (rest % MAX_MATCH >= 6 ? 3 : 2);
}

function literalsLength(count: number): number {
  const rest = count % 32;
  return 33 * Math.floor(count / 32) + (rest === 0 ? 0 : rest + 1);
}
