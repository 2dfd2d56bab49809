/*
 * A trie node's old version, given the version that replaced it. Versions of a branch mostly differ in one or two of sixteen hashes.
 *
 * Same length: runs of [equal bytes, varint ‖ different bytes n, varint ‖ n bytes of the old version], rest equal.
 * Other lengths: bytes shared at the start, varint ‖ bytes shared at the end, varint ‖ old bytes between.
 * First byte: which of both.
 */

const SAME_LENGTH = 0;
const OTHER_LENGTH = 1;
/** Runs closer than this are one run: a new run costs two bytes. */
const MIN_GAP = 3;

class Writer {
  #bytes = new Uint8Array(256);
  size = 0;

  byte(value: number): void {
    this.#grow(1);
    this.#bytes[this.size++] = value;
  }

  varint(value: number): void {
    let rest = value;
    while (rest >= 0x80) {
      this.byte((rest & 0x7f) | 0x80);
      rest >>>= 7;
    }
    this.byte(rest);
  }

  copy(from: Uint8Array, start: number, end: number): void {
    this.#grow(end - start);
    for (let i = start; i < end; i++) this.#bytes[this.size++] = from[i]!;
  }

  #grow(more: number): void {
    if (this.size + more <= this.#bytes.length) return;
    const bytes = new Uint8Array(Math.max(this.#bytes.length * 2, this.size + more));
    bytes.set(this.#bytes);
    this.#bytes = bytes;
  }

  finish(): Uint8Array {
    return this.#bytes.slice(0, this.size);
  }
}

export function encodeNodeDelta(old: Uint8Array, next: Uint8Array): Uint8Array {
  const out = new Writer();
  if (old.length !== next.length) {
    const limit = Math.min(old.length, next.length);
    let start = 0;
    while (start < limit && old[start] === next[start]) start++;
    let end = 0;
    while (end < limit - start && old[old.length - 1 - end] === next[next.length - 1 - end]) end++;
    out.byte(OTHER_LENGTH);
    out.varint(start);
    out.varint(end);
    out.copy(old, start, old.length - end);
    return out.finish();
  }
  out.byte(SAME_LENGTH);
  let written = 0;
  let at = 0;
  while (at < old.length) {
    if (old[at] === next[at]) {
      at++;
      continue;
    }
    const runStart = at;
    let runEnd = at + 1;
    for (let i = runEnd; i < old.length && i - runEnd < MIN_GAP; i++) if (old[i] !== next[i]) runEnd = i + 1;
    out.varint(runStart - written);
    out.varint(runEnd - runStart);
    out.copy(old, runStart, runEnd);
    written = runEnd;
    at = runEnd;
  }
  return out.finish();
}

/** The old version. `at`: where the delta begins in `delta`. */
export function applyNodeDelta(delta: Uint8Array, at: number, next: Uint8Array): Uint8Array {
  let position = at + 1;
  const varint = (): number => {
    let value = 0;
    let shift = 0;
    for (;;) {
      const byte = delta[position++]!;
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value;
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
