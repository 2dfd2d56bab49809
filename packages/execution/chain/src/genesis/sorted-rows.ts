import { bytesToBigint, trimBytesLeft, ZERO_HASH } from "@rnode/primitives";
import { RowSort, type SharedRows } from "@rnode/storage";
import { ACCOUNT_ROW, SLOT_ROW } from "./row-layout.ts";
import type { SortedAccount, SortedSlot, SortedState } from "./sorted-state.ts";

const HASH = 32;

/** The rows of a `GenesisState`, for another thread of this process, as plain data. */
export interface SharedState {
  readonly accounts: SharedRows;
  readonly slots: SharedRows;
  readonly hasPreimages: boolean;
}

/** The state without its codes, which the other thread has. */
export function sharedState({ accounts, slots, hasPreimages }: SharedState): SortedState {
  return {
    accounts: () => accountsIn(RowSort.sortedOf(accounts), hasPreimages),
    slots: () => slotsIn(RowSort.sortedOf(slots), hasPreimages),
    code: () => NO_CODE,
  };
}

const NO_CODE = new Uint8Array(0);

// PERF: copies of up to 64 bytes are cheap, and those of whole rows are not.

/** @param rows laid out as `ACCOUNT_ROW` */
export function* accountsIn(rows: Iterable<Uint8Array>, hasPreimages: boolean): Generator<SortedAccount> {
  const { addressAt, nonceAt, balanceAt, codeHashAt } = ACCOUNT_ROW;
  for (const row of rows) {
    yield {
      addressHash: row.slice(0, HASH),
      nonce: new DataView(row.buffer, row.byteOffset).getBigUint64(nonceAt),
      balance: bytesToBigint(trimBytesLeft(row.subarray(balanceAt, codeHashAt))),
      codeHash: row.slice(codeHashAt),
      address: hasPreimages ? row.slice(addressAt, nonceAt) : undefined,
    };
  }
}

/** @param rows laid out as `SLOT_ROW` */
export function* slotsIn(rows: Iterable<Uint8Array>, hasPreimages: boolean): Generator<SortedSlot> {
  const { hashAt, slotAt, valueAt: fullValueAt } = SLOT_ROW;
  let addressHash: Uint8Array = ZERO_HASH;
  for (const row of rows) {
    if (!startsWith(row, addressHash)) addressHash = row.slice(0, HASH);
    let valueAt: number = fullValueAt;
    while (row[valueAt] === 0) valueAt++;
    yield {
      addressHash,
      slotHash: row.slice(hashAt, slotAt),
      value: row.slice(valueAt),
      slot: hasPreimages ? row.slice(slotAt, fullValueAt) : undefined,
    };
  }
}

export function startsWith(row: Uint8Array, start: Uint8Array): boolean {
  for (let i = 0; i < start.length; i++) if (row[i] !== start[i]) return false;
  return true;
}
