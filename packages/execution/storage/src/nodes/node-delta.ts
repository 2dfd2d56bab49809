/*
 * The delta from which a trie node's old version is restored, given the version that replaced it. Two versions of a branch mostly
 * differ in one or two of sixteen hashes.
 *
 * Same length: runs of [number of equal bytes, varint ‖ number n of different bytes, varint ‖ n bytes of the old version]; the rest is
 * equal.
 * Other lengths: number of bytes shared at the start, varint ‖ number of bytes shared at the end, varint ‖ the old bytes in between.
 * The first byte says which of the two it is.
 */

const SAME_LENGTH = 0;
const OTHER_LENGTH = 1;
/** Runs closer together than this are merged, because a new run costs two bytes. */
const MIN_GAP = 3;

/** A growing buffer that is reused, because a block makes thousands of deltas. */
let scratch = new Uint8Array(2048);
/** views of its first bytes, by size. PERF: creating a view per node was a sixth of the garbage of the state-root thread */
let scratchViews: Uint8Array[] = [];

function writeVarint(at: number, value: number): number {
  let next = at;
  let rest = value;
  while (rest >= 0x80) {
    scratch[next++] = (rest & 0x7f) | 0x80;
    rest >>>= 7;
  }
  scratch[next++] = rest;
  return next;
}

/** Only indexes into `old`, which may be a result of `Table.peek`. */
function writeBytes(at: number, old: Uint8Array, start: number, end: number): number {
  for (let i = start; i < end; i++) scratch[at + i - start] = old[i]!;
  return at + end - start;
}

/**
 * Writes the delta after `prefix` bytes, which the caller fills.
 *
 * @param differsFrom versions of the same length differ only between here and `differsTo`
 * @returns a view that the next call overwrites; undefined if it would be longer than `maxSize`
 */
export function encodeNodeDelta(
  old: Uint8Array,
  next: Uint8Array,
  prefix: number,
  maxSize: number,
  differsFrom = 0,
  differsTo: number = old.length,
): Uint8Array | undefined {
  // Room for the bytes written before the next size check: the kind, two numbers and one run.
  const room = prefix + maxSize + old.length + 16;
  if (scratch.length < room) {
    scratch = new Uint8Array(room);
    scratchViews = [];
  }
  const end =
    old.length === next.length
      ? encodeSameLength(old, next, prefix, maxSize, differsFrom, differsTo)
      : encodeOtherLength(old, next, prefix);
  return end - prefix > maxSize ? undefined : (scratchViews[end] ??= scratch.subarray(0, end));
}

function encodeOtherLength(old: Uint8Array, next: Uint8Array, from: number): number {
  const limit = Math.min(old.length, next.length);
  let start = 0;
  while (start < limit && old[start] === next[start]) start++;
  let end = 0;
  while (end < limit - start && old[old.length - 1 - end] === next[next.length - 1 - end]) end++;
  scratch[from] = OTHER_LENGTH;
  return writeBytes(writeVarint(writeVarint(from + 1, start), end), old, start, old.length - end);
}

function encodeSameLength(
  old: Uint8Array,
  next: Uint8Array,
  from: number,
  maxSize: number,
  differsFrom: number,
  differsTo: number,
): number {
  scratch[from] = SAME_LENGTH;
  let at = from + 1;
  let written = 0;
  for (let i = differsFrom; i < differsTo; i++) {
    if (old[i] === next[i]) continue;
    let runEnd = i + 1;
    for (let j = runEnd; j < differsTo && j - runEnd < MIN_GAP; j++) if (old[j] !== next[j]) runEnd = j + 1;
    at = writeBytes(writeVarint(writeVarint(at, i - written), runEnd - i), old, i, runEnd);
    if (at - from > maxSize) return at;
    written = runEnd;
    i = runEnd - 1;
  }
  return at;
}

/** Restores the old version. @param at where the delta starts in `delta` */
export function applyNodeDelta(delta: Uint8Array, at: number, next: Uint8Array): Uint8Array {
  let position = at + 1;
  const varint = (): number => {
    let value = 0;
    let shift = 0;
    for (;;) {
      const byte = delta[position++]!;
      value |= (byte & 0x7f) << shift;
      if (!(byte >= 0x80)) return value; // also at the end of a damaged row
      shift += 7;
    }
  };
  if (delta[at] === OTHER_LENGTH) {
    const start = varint();
    const end = varint();
    const middle = delta.subarray(position);
    const old = new Uint8Array(start + middle.length + end);
    old.set(next.subarray(0, start));
    old.set(middle, start);
    old.set(next.subarray(next.length - end), start + middle.length);
    return old;
  }
  const old = next.slice();
  let target = 0;
  while (position < delta.length) {
    target += varint();
    const size = varint();
    for (let i = 0; i < size; i++) old[target++] = delta[position++]!;
  }
  return old;
}
