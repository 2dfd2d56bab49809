/*
 * Compression of rows: LZ77 in the form of LZ4's blocks, chosen because it decodes in one pass over bytes with no set-up, so that a few
 * kilobytes cost microseconds. A sequence is
 *   token: literals (high four bits), length of the match − 4 (low four bits); 15: bytes follow that are added, up to the first below 255
 *   literals
 *   distance of the match 2, little-endian; missing after the last literals
 * Unlike LZ4's, the last sequence needs no literals. What lies before the data in the same array may be referred to: it is the dictionary.
 */

const MIN_MATCH = 4;
const MAX_DISTANCE = 0xffff;
const TABLE_BITS = 13;

/** Where four bytes were last seen: positions + 1 by their hash. */
export class MatchTable {
  readonly positions = new Int32Array(2 ** TABLE_BITS);

  clear(): void {
    this.positions.fill(0);
  }

  copyFrom({ positions }: MatchTable): void {
    this.positions.set(positions);
  }

  /** Makes the bytes from `from` to `to` known as a dictionary. */
  note(bytes: Uint8Array, from: number, to: number): void {
    const { positions } = this;
    for (let at = from; at + MIN_MATCH <= to; at++) positions[placeOf(wordAt(bytes, at))] = at + 1;
  }
}

const wordAt = (bytes: Uint8Array, at: number): number =>
  bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24);
const placeOf = (word: number): number => Math.imul(word, 0x9e3779b1) >>> (32 - TABLE_BITS);

/** The most bytes that `size` bytes become. */
export const maxCompressedSize = (size: number): number => size + Math.ceil(size / 255) + 16;

/**
 * Compresses `bytes` from `from` to `to`. The dictionary is everything before `from` in the table; the new bytes are added to the
 * table.
 *
 * @param out has room for `maxCompressedSize`
 * @returns the end in `out`
 */
export function compress(table: MatchTable, bytes: Uint8Array, from: number, to: number, out: Uint8Array, outAt: number): number {
  const { positions } = table;
  let literals = from;
  let o = outAt;
  let at = from;
  while (at + MIN_MATCH <= to) {
    const word = wordAt(bytes, at);
    const place = placeOf(word);
    const match = positions[place]! - 1;
    positions[place] = at + 1;
    if (match < 0 || at - match > MAX_DISTANCE || wordAt(bytes, match) !== word) {
      at++;
      continue;
    }
    let length = MIN_MATCH;
    while (at + length < to && bytes[match + length] === bytes[at + length]) length++;
    const count = at - literals;
    out[o++] = (Math.min(count, 15) << 4) | Math.min(length - MIN_MATCH, 15);
    if (count >= 15) o = writeRest(out, o, count - 15);
    for (let i = literals; i < at; i++) out[o++] = bytes[i]!;
    const distance = at - match;
    out[o++] = distance;
    out[o++] = distance >> 8;
    if (length - MIN_MATCH >= 15) o = writeRest(out, o, length - MIN_MATCH - 15);
    const end = at + length;
    for (at++; at < end && at + MIN_MATCH <= to; at++) positions[placeOf(wordAt(bytes, at))] = at + 1;
    at = end;
    literals = end;
  }
  const count = to - literals;
  if (count > 0) {
    out[o++] = Math.min(count, 15) << 4;
    if (count >= 15) o = writeRest(out, o, count - 15);
    for (let i = literals; i < to; i++) out[o++] = bytes[i]!;
  }
  return o;
}

function writeRest(out: Uint8Array, at: number, rest: number): number {
  let o = at;
  let left = rest;
  for (; left >= 255; left -= 255) out[o++] = 255;
  out[o++] = left;
  return o;
}

/**
 * Restores exactly the bytes from `outAt` to `outEnd`. Matches may reach back to the start of `out`.
 *
 * @returns false if the input is corrupted
 */
export function decompress(input: Uint8Array, from: number, to: number, out: Uint8Array, outAt: number, outEnd: number): boolean {
  if (outEnd > out.length || to > input.length) return false;
  let i = from;
  let o = outAt;
  while (o < outEnd) {
    if (i >= to) return false;
    const token = input[i++]!;
    let count = token >> 4;
    if (count === 15) {
      let more = 255;
      while (more === 255) {
        if (i >= to) return false;
        more = input[i++]!;
        count += more;
      }
    }
    if (count > to - i || count > outEnd - o) return false;
    for (const end = o + count; o < end; ) out[o++] = input[i++]!;
    if (o === outEnd) break;
    if (to - i < 2) return false;
    const distance = input[i]! | (input[i + 1]! << 8);
    i += 2;
    let length = (token & 15) + MIN_MATCH;
    if (length === 15 + MIN_MATCH) {
      let more = 255;
      while (more === 255) {
        if (i >= to) return false;
        more = input[i++]!;
        length += more;
      }
    }
    if (distance === 0 || distance > o || length > outEnd - o) return false;
    for (const end = o + length; o < end; o++) out[o] = out[o - distance]!;
  }
  return i === to;
}
