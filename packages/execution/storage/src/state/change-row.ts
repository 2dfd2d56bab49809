import { compareBytes, EMPTY_BYTES } from "@rnode/primitives";
import type { StoredAccount } from "../api.ts";
import { readUint32, writeUint32 } from "../database/keys.ts";
import { decodeAccountValue } from "./account-value.ts";
import { toWord } from "./slot-value.ts";

/*
 * The account and the slots that one block changed, as they were before the block:
 *   bytes of the account row 1 (0: it did not exist) ‖ account row ‖ [number of slots 4 ‖ hashes of slots 32 each, ascending ‖ bytes of each value 1
 *   each ‖ values]
 * The part in brackets is left out if there are no slots. A value of 0 bytes means that the slot was empty.
 */

export interface OldSlot {
  /** keccak256 of the slot */
  readonly slot: Uint8Array;
  /** without leading zeros; `undefined`: zero */
  readonly value: Uint8Array | undefined;
}

const SLOT_SIZE = 32;

/** @param slots sorted in place */
export function encodeChangeRow(account: Uint8Array | undefined, slots: OldSlot[]): Uint8Array {
  slots.sort((a, b) => compareBytes(a.slot, b.slot));
  let valueBytes = 0;
  for (const { value } of slots) valueBytes += value?.length ?? 0;
  const row = new Uint8Array(changeRowSize(account?.length ?? 0, slots.length, valueBytes));
  const writer = new ChangeRowWriter(row, 0, account ?? EMPTY_BYTES, 0, account?.length ?? 0, slots.length);
  for (const { slot, value } of slots) writer.add(slot, 0, value ?? EMPTY_BYTES, 0, value?.length ?? 0);
  return row;
}

export const changeRowSize = (accountSize: number, slots: number, valueBytes: number): number =>
  1 + accountSize + (slots === 0 ? 0 : 4 + slots * (SLOT_SIZE + 1) + valueBytes);

/** Writes the same row into a buffer that has room for it; slots must be added in ascending order. */
export class ChangeRowWriter {
  readonly #out: Uint8Array;
  #slotAt: number;
  #sizeAt: number;
  #valueAt: number;

  /** @param slots the number of slots that will be added */
  constructor(out: Uint8Array, at: number, account: Uint8Array, accountAt: number, accountSize: number, slots: number) {
    this.#out = out;
    out[at] = accountSize;
    for (let i = 0; i < accountSize; i++) out[at + 1 + i] = account[accountAt + i]!;
    const countAt = at + 1 + accountSize;
    this.#slotAt = countAt + 4;
    this.#sizeAt = this.#slotAt + slots * SLOT_SIZE;
    this.#valueAt = this.#sizeAt + slots;
    if (slots > 0) writeUint32(out, countAt, slots);
  }

  /** @param size size of the value; 0: the slot was empty */
  add(slot: Uint8Array, slotAt: number, value: Uint8Array, valueAt: number, size: number): void {
    const out = this.#out;
    for (let i = 0; i < SLOT_SIZE; i++) out[this.#slotAt + i] = slot[slotAt + i]!;
    for (let i = 0; i < size; i++) out[this.#valueAt + i] = value[valueAt + i]!;
    this.#slotAt += SLOT_SIZE;
    out[this.#sizeAt++] = size;
    this.#valueAt += size;
  }
}

/** The account before the block; undefined if it did not exist. Only indexes into `row`. */
export function oldAccount(row: Uint8Array): StoredAccount | undefined {
  return row[0] === 0 ? undefined : decodeAccountValue(row, 1);
}

/** The value that `findOldSlot` found, 32 bytes; `undefined`: zero. Only indexes into `row`. */
export function oldSlot(row: Uint8Array, { at, size }: { readonly at: number; readonly size: number }): Uint8Array | undefined {
  return size === 0 ? undefined : toWord(row, at, size);
}

/**
 * The location of the slot's old value in the row; undefined if the block did not change the slot. Only indexes into `row`.
 *
 * @param slot has the hash of the slot at `hashAt`
 */
export function findOldSlot(row: Uint8Array, slot: Uint8Array, hashAt = 0): { at: number; size: number } | undefined {
  const countAt = 1 + row[0]!;
  if (countAt === row.length) return undefined;
  const count = readUint32(row, countAt);
  const slotsAt = countAt + 4;
  let low = 0;
  let high = count - 1;
  while (low <= high) {
    const middle = (low + high) >> 1;
    const order = compareSlot(row, slotsAt + middle * SLOT_SIZE, slot, hashAt);
    if (order === 0) return valueSpan(row, slotsAt, count, middle);
    if (order < 0) low = middle + 1;
    else high = middle - 1;
  }
  return undefined;
}

function compareSlot(row: Uint8Array, at: number, slot: Uint8Array, hashAt: number): number {
  for (let i = 0; i < SLOT_SIZE; i++) {
    const difference = row[at + i]! - slot[hashAt + i]!;
    if (difference !== 0) return difference;
  }
  return 0;
}

function valueSpan(row: Uint8Array, slotsAt: number, count: number, index: number): { at: number; size: number } {
  const sizesAt = slotsAt + count * SLOT_SIZE;
  let at = sizesAt + count;
  for (let i = 0; i < index; i++) at += row[sizesAt + i]!;
  return { at, size: row[sizesAt + index]! };
}

/** Decodes a whole row into views of it. */
export function decodeChangeRow(row: Uint8Array): { account: Uint8Array | undefined; slots: OldSlot[] } {
  const countAt = 1 + row[0]!;
  const account = row[0] === 0 ? undefined : row.subarray(1, countAt);
  const slots: OldSlot[] = [];
  if (countAt === row.length) return { account, slots };
  const count = readUint32(row, countAt);
  const sizesAt = countAt + 4 + count * SLOT_SIZE;
  let valueAt = sizesAt + count;
  for (let i = 0; i < count; i++) {
    const slotAt = countAt + 4 + i * SLOT_SIZE;
    const size = row[sizesAt + i]!;
    const value = size === 0 ? undefined : row.subarray(valueAt, valueAt + size);
    slots.push({ slot: row.subarray(slotAt, slotAt + SLOT_SIZE), value });
    valueAt += size;
  }
  return { account, slots };
}
