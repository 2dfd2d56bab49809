/*
 * The blocks that changed an account or a slot, ascending, in parts of sixteen:
 *   part: twice the first number, plus 1 if there are earlier parts (or were, before they were pruned), varint ‖ distance of each further
 *         number from the one before it, varint
 * Where parts lie is in flat-rows.ts.
 */

/** Numbers in a full part. PERF: the last part, which is in the row of the flat state, is read with it, so it must stay short. */
export const PART_NUMBERS = 16;
/** Twice a block number of 48 bits, seven bits a byte. */
const MAX_VARINT_BYTES = 7;
export const MAX_PART_BYTES = PART_NUMBERS * MAX_VARINT_BYTES;

// PERF: numbers may exceed 32 bits, but bit operations are right, and fast, for the lower ones.
const LOW_BITS = 28;

/** Reads varints one after the other. */
class VarintReader {
  #bytes: Uint8Array = new Uint8Array(0);
  at = 0;
  #end = 0;

  open(bytes: Uint8Array, at: number, end: number): this {
    this.#bytes = bytes;
    this.at = at;
    this.#end = end;
    return this;
  }

  get isAtEnd(): boolean {
    return this.at >= this.#end;
  }

  next(): number {
    const bytes = this.#bytes;
    let value = 0;
    let shift = 0;
    for (; shift < LOW_BITS; shift += 7) {
      const byte = this.at < this.#end ? bytes[this.at]! : 0; // a damaged part may end early
      this.at++;
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    for (let factor = 2 ** LOW_BITS; this.at < this.#end; factor *= 128) {
      const byte = bytes[this.at++]!;
      value += (byte & 0x7f) * factor;
      if (byte < 0x80) break;
    }
    return value;
  }
}

const reader = new VarintReader();

function writeVarint(out: Uint8Array, at: number, value: number): number {
  let next = at;
  let rest = value;
  for (; rest >= 2 ** LOW_BITS; rest = Math.floor(rest / 128)) out[next++] = (rest % 128) | 0x80;
  for (; rest >= 0x80; rest >>>= 7) out[next++] = (rest & 0x7f) | 0x80;
  out[next++] = rest;
  return next;
}

/** One part, to be changed. */
export class ChangeListPart {
  readonly numbers = new Float64Array(PART_NUMBERS);
  count = 0;
  hasEarlier = false;

  get last(): number {
    return this.numbers[this.count - 1]!;
  }

  clear(): void {
    this.count = 0;
    this.hasEarlier = false;
  }

  /** @param bytes only indexed into; nothing from `at` to `end`: an empty list */
  read(bytes: Uint8Array, at: number, end: number): void {
    this.clear();
    if (at >= end) return;
    reader.open(bytes, at, end);
    const first = reader.next();
    this.hasEarlier = first % 2 === 1;
    let number = Math.floor(first / 2);
    this.numbers[this.count++] = number;
    while (!reader.isAtEnd && this.count < PART_NUMBERS) {
      number += reader.next();
      this.numbers[this.count++] = number;
    }
  }

  /** @returns the end of the written bytes; `at` for an empty list */
  write(out: Uint8Array, at: number): number {
    if (this.count === 0) return at;
    let end = writeVarint(out, at, 2 * this.numbers[0]! + (this.hasEarlier ? 1 : 0));
    for (let i = 1; i < this.count; i++) end = writeVarint(out, end, this.numbers[i]! - this.numbers[i - 1]!);
    return end;
  }
}

const checked = new ChangeListPart();
const rewritten = new Uint8Array(MAX_PART_BYTES);

/** Whether the bytes from `at` to the end are a part, or nothing, with no number above `head`. */
export function isChangeListPart(bytes: Uint8Array, at: number, head: number): boolean {
  if (at >= bytes.length) return at === bytes.length;
  checked.read(bytes, at, bytes.length);
  const size = checked.write(rewritten, 0);
  if (at + size !== bytes.length || checked.last > head) return false;
  for (let i = 0; i < size; i++) if (rewritten[i] !== bytes[at + i]) return false;
  for (let i = 1; i < checked.count; i++) if (checked.numbers[i]! <= checked.numbers[i - 1]!) return false;
  return true;
}

/** A part's information about the first change after a block. */
export interface FirstChange {
  /** the part's first number above the given one; `undefined` if there is none */
  number: number | undefined;
  /** an earlier part may have a lower one */
  mayBeEarlier: boolean;
}

const found: FirstChange = { number: undefined, mayBeEarlier: false };

/** @param bytes only indexed into @returns always the same object */
export function firstChangeAfter(number: number, bytes: Uint8Array, at: number, end: number): Readonly<FirstChange> {
  found.number = undefined;
  found.mayBeEarlier = false;
  if (at >= end) return found;
  reader.open(bytes, at, end);
  const first = reader.next();
  let next = Math.floor(first / 2);
  if (next > number) {
    found.number = next;
    found.mayBeEarlier = first % 2 === 1;
    return found;
  }
  while (!reader.isAtEnd) {
    next += reader.next();
    if (next <= number) continue;
    found.number = next;
    break;
  }
  return found;
}
