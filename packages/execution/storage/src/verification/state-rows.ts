import { bigintToBytes, keccak256 } from "@rnode/primitives";
import type { StoredAccount } from "../api.ts";
import { RowSort, type SortedRun } from "../sorting/row-sort.ts";

/*
 * What a verification sorts by hash, because the tables are in the order of addresses:
 *   accounts: keccak256 of the address 32 ‖ address 20 ‖ nonce 8 ‖ balance 32 ‖ code hash 32 ‖ storage root 32
 *   slots:    keccak256 of the address 32 ‖ keccak256 of the slot 32 ‖ value 32
 */
export const HASH_SIZE = 32;
export const ADDRESS_SIZE = 20;
export const NONCE_AT = HASH_SIZE + ADDRESS_SIZE;
const BALANCE_AT = NONCE_AT + 8;
const CODE_HASH_AT = BALANCE_AT + 32;
export const STORAGE_ROOT_AT = CODE_HASH_AT + HASH_SIZE;
const ACCOUNT_SIZE = STORAGE_ROOT_AT + HASH_SIZE;
const SLOT_SIZE = 2 * HASH_SIZE + 32;

export interface StateRuns {
  readonly accounts: readonly SortedRun[];
  readonly slots: readonly SortedRun[];
}

export interface StateRowsOptions {
  /** for rows that do not fit into memory */
  readonly folder: string;
  /** of each of the two sorts; default: as in `RowSort` */
  readonly memoryBytes?: number | undefined;
  /** files of an earlier process in the folder; the files are kept after this process. By default they are unlinked */
  readonly kept?: StateRuns | undefined;
}

/** Names of the kept files. */
export const ROW_FILES = { accounts: "accounts.rows", slots: "slots.rows" } as const;

/** The rows of the state in the order of hashes. */
export class StateRows {
  readonly accounts: RowSort;
  readonly slots: RowSort;

  /** @throws {CodedError} storage/disk-full, storage/io */
  constructor({ kept, ...options }: StateRowsOptions) {
    const keptAs = (name: "accounts" | "slots") => kept && { name: ROW_FILES[name], runs: kept[name] };
    this.accounts = new RowSort({ ...options, rowBytes: ACCOUNT_SIZE, keyBytes: HASH_SIZE, kept: keptAs("accounts") });
    this.slots = new RowSort({ ...options, rowBytes: SLOT_SIZE, keyBytes: 2 * HASH_SIZE, kept: keptAs("slots") });
  }

  addAccount(hash: Uint8Array, address: Uint8Array, account: StoredAccount): void {
    const row = this.accounts.add();
    row.set(hash);
    row.set(address, HASH_SIZE);
    new DataView(row.buffer, row.byteOffset).setBigUint64(NONCE_AT, account.nonce);
    row.set(bigintToBytes(BigInt.asUintN(256, account.balance), 32), BALANCE_AT); // a damaged row may be longer
    row.set(account.codeHash, CODE_HASH_AT);
    row.set(account.storageRoot, STORAGE_ROOT_AT);
  }

  /** @param value at most 32 bytes, without leading zeros */
  addSlot(owner: Uint8Array, slot: Uint8Array, value: Uint8Array): void {
    const row = this.slots.add();
    row.set(owner);
    row.set(keccak256(slot), HASH_SIZE);
    row.set(value, SLOT_SIZE - value.length);
  }

  /** Whether the kept files are as they were left. Reads them once. @throws {CodedError} storage/io */
  isIntact(): boolean {
    return this.accounts.hasIntactRuns() && this.slots.hasIntactRuns();
  }

  get runs(): StateRuns {
    return { accounts: this.accounts.runs, slots: this.slots.runs };
  }

  /** Writes all rows to the files. @throws {CodedError} storage/disk-full, storage/io; rows that are in no file then stay in memory */
  spill(): void {
    this.accounts.spill();
    this.slots.spill();
  }

  /** Waits until all written rows are on disk. @throws {CodedError} storage/disk-full, storage/io */
  sync(): void {
    this.accounts.sync();
    this.slots.sync();
  }

  /** Closes the files; kept ones stay. */
  close(): void {
    this.accounts.close();
    this.slots.close();
  }
}
