import { BLOCK_NUMBER_SIZE, MAX_BLOCK_NUMBER, readBlockNumber, writeBlockNumber } from "../database/keys.ts";
import { startsWith, type Table } from "../database/table.ts";
import { storageError } from "../errors.ts";
import { accountValueEnd } from "./account-value.ts";
import { ChangeListPart, firstChangeAfter, MAX_PART_BYTES, PART_NUMBERS } from "./change-list.ts";
import { SLOT_HEADER_SIZE, slotValueAt, slotValueEnd, writeSlotHeader } from "./slot-value.ts";

/*
 * Accounts or slots of the head, and for each the blocks that changed it (change-list.ts). The last part of that list follows the value in its row, which a
 * change writes anyway: an index beside it would be another page for each changed key. Earlier parts, which are full and never change, and the last parts of
 * keys that are not in the state any more have rows of their own:
 *   row key: key ‖ highest number of the part 6; of the last part: MAX_BLOCK_NUMBER
 *   row:     part
 */

export interface FlatRowTables {
  /** key → value, and the last part of the list */
  readonly rows: Table;
  /** the other parts */
  readonly lists: Table;
}

const MAX_VALUE_BYTES = 2 + 8 + 32 + 32 + 32;

/** Reads old versions' places, and writes rows with their lists. */
export class FlatRows {
  readonly #tables: FlatRowTables;
  readonly #isSlot: boolean;
  readonly #listKey: Uint8Array;
  readonly #part = new ChangeListPart();
  readonly #row = new Uint8Array(MAX_VALUE_BYTES + MAX_PART_BYTES);
  readonly #key: Uint8Array;
  #exists = false;
  /** the last part is in a separate row */
  #isListApart = false;

  constructor(kind: "account" | "slot", keySize: number, tables: FlatRowTables) {
    this.#tables = tables;
    this.#isSlot = kind === "slot";
    this.#key = new Uint8Array(keySize);
    this.#listKey = new Uint8Array(keySize + BLOCK_NUMBER_SIZE);
  }

  /** Where the value starts in a row. Only indexes into it. */
  valueAt(row: Uint8Array): number {
    return this.#isSlot ? slotValueAt(row) : 0;
  }

  /** End of the value. Only indexes into the row. */
  valueEnd(row: Uint8Array): number {
    return this.#isSlot ? slotValueEnd(row) : accountValueEnd(row);
  }

  #listKeyOf(key: Uint8Array, highest: number): Uint8Array {
    this.#listKey.set(key);
    writeBlockNumber(this.#listKey, key.length, highest);
    return this.#listKey;
  }

  #isOf(listKey: Uint8Array, key: Uint8Array): boolean {
    return listKey.length === key.length + BLOCK_NUMBER_SIZE && startsWith(listKey, key);
  }

  /**
   * The first block after block `number` that changed the key. @param row the key's row, if any, as `peek` gave it; still valid afterwards if the
   * result is undefined
   */
  firstChange(number: number, key: Uint8Array, row: Uint8Array | undefined): number | undefined {
    const { lists } = this.#tables;
    const list = row ?? lists.peek(this.#listKeyOf(key, MAX_BLOCK_NUMBER));
    if (list === undefined) return undefined;
    const { number: first, mayBeEarlier } = firstChangeAfter(number, list, row === undefined ? 0 : this.valueEnd(row), list.length);
    if (!mayBeEarlier) return first;
    const part = lists.firstFrom(this.#listKeyOf(key, number + 1));
    if (part === undefined || !this.#isOf(part.key, key)) return first; // it was pruned
    return firstChangeAfter(number, part.value, 0, part.value.length).number ?? first;
  }

  /**
   * Keys that are not in the state any more, start with `prefix`, and changed after block `number`. Nothing may be written meanwhile.
   *
   * @param start the first key, or bytes above all parts of the key before
   */
  *goneKeys(number: number, prefix: Uint8Array, start: Uint8Array): Generator<Uint8Array> {
    for (const { key, value } of this.#tables.lists.withPrefix(prefix, start)) {
      const keySize = key.length - BLOCK_NUMBER_SIZE;
      if (readBlockNumber(key, keySize) !== MAX_BLOCK_NUMBER) continue;
      this.#part.read(value, 0, value.length);
      if (this.#part.last > number) yield key.subarray(0, keySize);
    }
  }

  /** Moves to a key, whose row `replace` and `restore` then write. @returns its row, as in `peek`; `undefined` if it has none */
  seek(key: Uint8Array): Uint8Array | undefined {
    for (let i = 0; i < this.#key.length; i++) this.#key[i] = key[i]!;
    const row = this.#tables.rows.peek(key);
    this.#exists = row !== undefined;
    this.#isListApart = false;
    if (row !== undefined) this.#part.read(row, this.valueEnd(row), row.length);
    return row;
  }

  /** Of a key that has no row, once it is known to be written. */
  #findListApart(): void {
    if (this.#exists) return;
    const list = this.#tables.lists.peek(this.#listKeyOf(this.#key, MAX_BLOCK_NUMBER));
    this.#isListApart = list !== undefined;
    if (list === undefined) this.#part.clear();
    else this.#part.read(list, 0, list.length);
  }

  /**
   * Writes the value after blocks, and adds those blocks to the list.
   *
   * @param size of the value, which starts at `at`; 0: the key is deleted
   * @param numbers ascending, above all of the list
   * @param count number of entries of `numbers` to add
   */
  replace(value: Uint8Array, at: number, size: number, numbers: readonly number[], count = numbers.length): void {
    this.#findListApart();
    const part = this.#part;
    for (let i = 0; i < count; i++) {
      const number = numbers[i]!;
      if (part.count > 0 && part.last >= number) throw damagedList(`${number} after ${part.last}`);
      if (part.count === PART_NUMBERS) {
        this.#tables.lists.write(this.#listKeyOf(this.#key, part.last), this.#row, part.write(this.#row, 0));
        part.count = 0;
        part.hasEarlier = true;
      }
      part.numbers[part.count++] = number;
    }
    this.#write(value, at, size);
  }

  /** Writes the key's value from before block `number`, its last change. @param value `undefined`: the key did not exist */
  restore(value: Uint8Array | undefined, number: number): void {
    this.#findListApart();
    const part = this.#part;
    if (part.count === 0) throw damagedList(`block ${number} is missing`);
    if (part.last !== number) throw damagedList(`${part.last} instead of ${number}`);
    part.count--;
    if (part.count === 0 && part.hasEarlier) this.#takeEarlierPart();
    this.#write(value ?? this.#row, 0, value?.length ?? 0);
  }

  /** The part before becomes the last one. */
  #takeEarlierPart(): void {
    const { lists } = this.#tables;
    this.#part.clear();
    // The key of the last part is above all of them, and there may be such a row.
    const earlier = lists.lastUpTo(this.#listKeyOf(this.#key, MAX_BLOCK_NUMBER - 1));
    if (earlier === undefined || !this.#isOf(earlier.key, this.#key)) return; // it was pruned
    this.#part.read(earlier.value, 0, earlier.value.length);
    lists.delete(earlier.key);
  }

  #write(value: Uint8Array, at: number, size: number): void {
    const { rows, lists } = this.#tables;
    const part = this.#part;
    const row = this.#row;
    if (size === 0) {
      if (this.#exists) rows.delete(this.#key);
      if (part.count > 0) lists.write(this.#listKeyOf(this.#key, MAX_BLOCK_NUMBER), row, part.write(row, 0));
      else if (this.#isListApart) lists.delete(this.#listKeyOf(this.#key, MAX_BLOCK_NUMBER));
      return;
    }
    const header = this.#isSlot && part.count > 0 ? SLOT_HEADER_SIZE : 0;
    if (header > 0) writeSlotHeader(row, size);
    for (let i = 0; i < size; i++) row[header + i] = value[at + i]!;
    rows.write(this.#key, row, part.write(row, header + size));
    if (this.#isListApart) lists.delete(this.#listKeyOf(this.#key, MAX_BLOCK_NUMBER));
  }

  /**
   * For pruning: removes block `number`, which changed the key, from the list. Called for all blocks in ascending order, it
   * removes each part once all of it is obsolete, except for parts in rows of the state.
   */
  prune(key: Uint8Array, number: number): void {
    const { lists } = this.#tables;
    lists.delete(this.#listKeyOf(key, number));
    const list = lists.peek(this.#listKeyOf(key, MAX_BLOCK_NUMBER));
    if (list === undefined) return;
    this.#part.read(list, 0, list.length);
    if (this.#part.last === number) lists.delete(this.#listKeyOf(key, MAX_BLOCK_NUMBER));
  }
}

const damagedList = (reason: string): Error => storageError("storage/corrupted", { row: "blocks that changed a key", reason });
