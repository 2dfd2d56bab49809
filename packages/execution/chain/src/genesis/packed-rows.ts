import type { AccountRecord } from "@rnode/evm";
import { addKeccak256, bigintToBytes, bytesToHex, flushKeccak256, type Hex, isZeroBytes, keccak256 } from "@rnode/primitives";
import type { GenesisSlot } from "@rnode/protocol";
import { ACCOUNT_ROW, SLOT_ROW } from "./row-layout.ts";

/** Rows of a state in the layout of `GenesisState`, and codes. */
export interface PackedState {
  readonly accounts: Uint8Array;
  readonly slots: Uint8Array;
  readonly codes: readonly { readonly codeHash: Uint8Array; readonly code: Uint8Array }[];
  /** hash of the account that the open slots of the parts before are of, if it came since */
  readonly owner: Uint8Array | undefined;
  /** how many of the last slots are open: their account comes in a later part */
  readonly openSlots: number;
}

/** Packs accounts and slots, part by part. The slots of an account may come before its address. */
export class PackedRows {
  readonly #accounts = new Rows(ACCOUNT_ROW.bytes);
  readonly #slots = new Rows(SLOT_ROW.bytes);
  #codes = new Map<Hex, PackedState["codes"][number]>();
  /** of the account whose slots come, if it is known */
  #current: Uint8Array | undefined;
  /** Of its slots, the first one that is in this part. */
  #firstSlot = 0;
  #hasOpenParts = false;
  #owner: Uint8Array | undefined;

  /** Sets the account of the slots since the last account. */
  setAddress(address: Uint8Array): void {
    const owner = keccak256(address);
    this.#current = owner;
    for (let place = this.#firstSlot; place < this.#slots.count; place++) this.#slots.row(place).set(owner);
    if (this.#hasOpenParts) this.#owner = owner;
    this.#hasOpenParts = false;
  }

  /** Adds a slot of the current account; one with value zero is left out. */
  addSlot({ slot, value }: GenesisSlot): void {
    if (isZeroBytes(value)) return;
    const row = this.#slots.add();
    if (this.#current !== undefined) row.set(this.#current);
    addKeccak256(slot, row, SLOT_ROW.hashAt);
    row.set(slot, SLOT_ROW.slotAt);
    row.set(value, SLOT_ROW.valueAt);
  }

  /** Adds the current account, after its slots. @param code empty: none */
  addAccount(address: Uint8Array, { nonce, balance, codeHash }: AccountRecord, code: Uint8Array): void {
    const row = this.#accounts.add();
    row.set(this.#current!);
    row.set(address, ACCOUNT_ROW.addressAt);
    new DataView(row.buffer, row.byteOffset).setBigUint64(ACCOUNT_ROW.nonceAt, nonce);
    row.set(bigintToBytes(balance, 32), ACCOUNT_ROW.balanceAt);
    row.set(codeHash, ACCOUNT_ROW.codeHashAt);
    if (code.length > 0) this.#codes.set(bytesToHex(codeHash), { codeHash, code });
    this.#current = undefined;
    this.#firstSlot = this.#slots.count;
  }

  /** The rows since the last call. */
  take(): PackedState {
    flushKeccak256();
    const openSlots = this.#current === undefined ? this.#slots.count - this.#firstSlot : 0;
    const codes = [...this.#codes.values()];
    const owner = this.#owner;
    this.#codes.clear();
    this.#owner = undefined;
    this.#firstSlot = 0;
    this.#hasOpenParts ||= openSlots > 0;
    return { accounts: this.#accounts.take(), slots: this.#slots.take(), codes, owner, openSlots };
  }
}

const FIRST_ROWS = 1024;

/** Rows of one size, one after the other. */
class Rows {
  readonly #rowBytes: number;
  #bytes: Uint8Array;
  count = 0;

  constructor(rowBytes: number) {
    this.#rowBytes = rowBytes;
    this.#bytes = new Uint8Array(FIRST_ROWS * rowBytes);
  }

  /** PERF: the row stays where it is until the next one, but hashes that are pending go to it: room is only made when there are none. */
  add(): Uint8Array {
    if ((this.count + 1) * this.#rowBytes > this.#bytes.length) {
      flushKeccak256();
      const larger = new Uint8Array(2 * this.#bytes.length);
      larger.set(this.#bytes);
      this.#bytes = larger;
    }
    return this.row(this.count++);
  }

  row(place: number): Uint8Array {
    return this.#bytes.subarray(place * this.#rowBytes, (place + 1) * this.#rowBytes);
  }

  /** Gives all rows away. */
  take(): Uint8Array {
    const taken = this.#bytes.subarray(0, this.count * this.#rowBytes);
    this.#bytes = new Uint8Array(this.#bytes.length);
    this.count = 0;
    return taken;
  }
}
