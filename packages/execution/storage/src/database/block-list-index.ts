import { storageError } from "../errors.ts";
import { BLOCK_NUMBER_SIZE, MAX_BLOCK_NUMBER, readBlockNumber, readUint32, writeBlockNumber, writeUint32 } from "./keys.ts";
import { startsWith, type Table } from "./table.ts";

/*
 * Sorted lists of block numbers, one for each key (an address, a slot, a topic), in chunks:
 *   row key: key ‖ highest block number of the chunk 6; of the last chunk, which grows: MAX_BLOCK_NUMBER
 *   row:     1 if there are earlier chunks (or were, before they were pruned), else 0, 1 byte ‖ first number 6 ‖ distance of each further number from the first 4
 * One seek to key ‖ N + 1 finds the chunk with the first number above N. Most keys have a single chunk, which takes a single read.
 */

const FIRST_AT = 1;
const REST_AT = FIRST_AT + BLOCK_NUMBER_SIZE;
const DISTANCE_SIZE = 4;
/** Numbers in a full chunk; four chunks with their keys fit into a page of 4 KiB. */
const MAX_NUMBERS = 220;

const countOf = (length: number): number => (length - REST_AT) / DISTANCE_SIZE + 1;

function numberAt(chunk: Uint8Array, index: number): number {
  const first = readBlockNumber(chunk, FIRST_AT);
  return index === 0 ? first : first + readUint32(chunk, REST_AT + (index - 1) * DISTANCE_SIZE);
}

/** Index of the chunk's first number that is at least `number`; the count if all are below. */
function lowerBound(chunk: Uint8Array, number: number): number {
  let low = 0;
  let high = countOf(chunk.length);
  while (low < high) {
    const middle = (low + high) >> 1;
    if (numberAt(chunk, middle) < number) low = middle + 1;
    else high = middle;
  }
  return low;
}

export class BlockListIndex {
  readonly #table: Table;
  /** buffers in which row keys are built, by key size */
  readonly #rowKeys = new Map<number, Uint8Array>();
  /** a buffer in which a chunk is built */
  readonly #chunk = new Uint8Array(REST_AT + MAX_NUMBERS * DISTANCE_SIZE);

  constructor(table: Table) {
    this.#table = table;
  }

  /** Valid until the next call for a key of the same size. */
  #rowKey(key: Uint8Array, highest: number): Uint8Array {
    let rowKey = this.#rowKeys.get(key.length);
    if (rowKey === undefined) {
      rowKey = new Uint8Array(key.length + BLOCK_NUMBER_SIZE);
      this.#rowKeys.set(key.length, rowKey);
    }
    rowKey.set(key);
    writeBlockNumber(rowKey, key.length, highest);
    return rowKey;
  }

  /** Adds a number greater than all others of the key; an existing number is ignored. */
  append(key: Uint8Array, number: number): void {
    this.appendAll(key, [number]);
  }

  /**
   * Adds ascending numbers greater than all others of the key; an existing number is ignored. @param count number of entries of
   * `numbers` to add
   */
  appendAll(key: Uint8Array, numbers: readonly number[], count: number = numbers.length): void {
    const last = this.#table.peek(this.#rowKey(key, MAX_BLOCK_NUMBER));
    const chunk = this.#chunk;
    let size = 0;
    if (last !== undefined) {
      size = last.length;
      for (let i = 0; i < size; i++) chunk[i] = last[i]!;
    }
    let isSame = true;
    for (let i = 0; i < count; i++) {
      const number = numbers[i]!;
      if (size > 0) {
        const highest = numberAt(chunk, countOf(size) - 1);
        if (highest === number) continue;
        if (highest > number) throw storageError("storage/corrupted", { row: "block list", reason: `${number} after ${highest}` });
        if (countOf(size) < MAX_NUMBERS) {
          writeUint32(chunk, size, number - readBlockNumber(chunk, FIRST_AT));
          size += DISTANCE_SIZE;
          isSame = false;
          continue;
        }
        this.#table.write(this.#rowKey(key, highest), chunk, size);
      }
      chunk[0] = size > 0 ? 1 : 0;
      writeBlockNumber(chunk, FIRST_AT, number);
      size = REST_AT;
      isSame = false;
    }
    if (!isSame) this.#table.write(this.#rowKey(key, MAX_BLOCK_NUMBER), chunk, size);
  }

  /** Adds ascending numbers less than all others of the key. @param count number of entries of `numbers` to add */
  prependAll(key: Uint8Array, numbers: readonly number[], count: number = numbers.length): void {
    const first = this.#table.firstFrom(this.#rowKey(key, 0));
    if (first === undefined || !this.#isOf(first.key, key)) {
      this.appendAll(key, numbers, count);
      return;
    }
    const all = numbers.slice(0, count);
    for (let i = 0; i < countOf(first.value.length); i++) all.push(numberAt(first.value, i));
    const lastChunkAt = all.length - Math.min(all.length, MAX_NUMBERS);
    for (let at = 0; at < lastChunkAt; at += MAX_NUMBERS) {
      const chunk = all.slice(at, Math.min(at + MAX_NUMBERS, lastChunkAt));
      this.#writeChunk(this.#rowKey(key, chunk.at(-1)!), at > 0, chunk);
    }
    this.#writeChunk(first.key, lastChunkAt > 0, all.slice(lastChunkAt));
  }

  #writeChunk(rowKey: Uint8Array, hasEarlier: boolean, numbers: readonly number[]): void {
    const chunk = this.#chunk;
    const first = numbers[0]!;
    chunk[0] = hasEarlier ? 1 : 0;
    writeBlockNumber(chunk, FIRST_AT, first);
    for (let i = 1; i < numbers.length; i++) writeUint32(chunk, REST_AT + (i - 1) * DISTANCE_SIZE, numbers[i]! - first);
    this.#table.write(rowKey, chunk, REST_AT + (numbers.length - 1) * DISTANCE_SIZE);
  }

  /** Removes the numbers above `number`. */
  truncate(key: Uint8Array, number: number): void {
    let last = this.#table.read(this.#rowKey(key, MAX_BLOCK_NUMBER));
    while (last !== undefined) {
      const keep = lowerBound(last, number + 1);
      if (keep > 0) {
        if (keep === countOf(last.length)) return;
        this.#table.write(this.#rowKey(key, MAX_BLOCK_NUMBER), last.slice(0, REST_AT + (keep - 1) * DISTANCE_SIZE));
        return;
      }
      const hasEarlier = last[0] === 1;
      this.#table.delete(this.#rowKey(key, MAX_BLOCK_NUMBER));
      if (!hasEarlier) return;
      const earlier = this.#table.lastUpTo(this.#rowKey(key, MAX_BLOCK_NUMBER));
      if (earlier === undefined || !this.#isOf(earlier.key, key)) return; // it was pruned
      // The previous chunk becomes the last one.
      this.#table.delete(earlier.key);
      this.#table.write(this.#rowKey(key, MAX_BLOCK_NUMBER), earlier.value);
      last = earlier.value;
    }
  }

  /**
   * For pruning: drops the chunk whose last number is `number`, if there is one. Called for every number of a list, starting from the
   * first, this removes each chunk once all of its numbers are obsolete. The rest of the list then starts with at most one chunk that
   * has obsolete numbers.
   */
  dropChunkEndingAt(key: Uint8Array, number: number): void {
    const last = this.#table.peek(this.#rowKey(key, MAX_BLOCK_NUMBER));
    if (last === undefined) return;
    if (readBlockNumber(last, FIRST_AT) > number) {
      if (last[0] === 1) this.#table.delete(this.#rowKey(key, number));
    } else if (numberAt(last, countOf(last.length) - 1) === number) {
      this.#table.delete(this.#rowKey(key, MAX_BLOCK_NUMBER));
    }
  }

  #isOf(rowKey: Uint8Array, key: Uint8Array): boolean {
    return rowKey.length === key.length + BLOCK_NUMBER_SIZE && startsWith(rowKey, key);
  }

  /** The lowest number of the key that is at least `number`. */
  firstFrom(key: Uint8Array, number: number): number | undefined {
    const last = this.#table.peek(this.#rowKey(key, MAX_BLOCK_NUMBER));
    if (last === undefined) return undefined;
    const first = readBlockNumber(last, FIRST_AT);
    if (first >= number) {
      if (first === number || last[0] === 0) return first;
      const entry = this.#table.firstFrom(this.#rowKey(key, number))!;
      return numberAt(entry.value, lowerBound(entry.value, number));
    }
    const index = lowerBound(last, number);
    return index < countOf(last.length) ? numberAt(last, index) : undefined;
  }

  /** The chunk that contains `firstFrom(key, number)`, as numbers. */
  chunkFrom(key: Uint8Array, number: number): number[] | undefined {
    const entry = this.#table.firstFrom(this.#rowKey(key, number));
    if (entry === undefined || !this.#isOf(entry.key, key)) return undefined;
    const numbers: number[] = [];
    const count = countOf(entry.value.length);
    for (let i = lowerBound(entry.value, number); i < count; i++) numbers.push(numberAt(entry.value, i));
    return numbers.length === 0 ? undefined : numbers;
  }
}
