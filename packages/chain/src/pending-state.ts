import type { AccountChange, AccountRecord, StateChanges, StateReader } from "@rnode/evm";
import { bytesToHex, type Hex } from "@rnode/primitives";

interface PendingAccount {
  record: AccountRecord | undefined;
  /** the last block that changed it */
  number: number;
  /** slots written in the meantime */
  slots: Map<Hex, Uint8Array> | undefined;
  /** whether slots that are not listed are empty */
  isCleared: boolean;
}

/** State of a block on its way: what blocks that are not stored yet changed, over the state of the last one that is. */
export class PendingState implements StateReader {
  #base: StateReader;
  readonly #accounts = new Map<Hex, PendingAccount>();
  readonly #codes = new Map<Hex, Uint8Array>();
  readonly #hashes = new Map<number, Uint8Array>();

  constructor(base: StateReader) {
    this.#base = base;
  }

  apply(number: number, hash: Uint8Array, { accounts, codes }: StateChanges): void {
    this.#hashes.set(number, hash);
    for (const { codeHash, code } of codes) this.#codes.set(bytesToHex(codeHash), code);
    for (const change of accounts) this.#applyAccount(number, change);
  }

  #applyAccount(number: number, { address, after, storageCleared, storage }: AccountChange): void {
    const addressHex = bytesToHex(address);
    let account = this.#accounts.get(addressHex);
    if (account === undefined) {
      account = { record: after, number, slots: undefined, isCleared: false };
      this.#accounts.set(addressHex, account);
    }
    account.record = after;
    account.number = number;
    if (storageCleared || after === undefined) {
      account.slots = undefined;
      account.isCleared = true;
    }
    if (storage.length === 0) return;
    account.slots ??= new Map();
    for (const { slot, after: value } of storage) account.slots.set(bytesToHex(slot), value);
  }

  /** Blocks up to `number` are stored, and `base` is the state of the last of them. */
  rebase(base: StateReader, number: number): void {
    this.#base = base;
    for (const [addressHex, account] of this.#accounts) if (account.number <= number) this.#accounts.delete(addressHex);
    for (const known of this.#hashes.keys()) if (known <= number) this.#hashes.delete(known);
    if (this.#accounts.size === 0) this.#codes.clear();
  }

  readAccount(address: Uint8Array): AccountRecord | undefined {
    const account = this.#accounts.get(bytesToHex(address));
    return account === undefined ? this.#base.readAccount(address) : account.record;
  }

  readStorage(address: Uint8Array, slot: Uint8Array): Uint8Array | undefined {
    const account = this.#accounts.get(bytesToHex(address));
    if (account === undefined) return this.#base.readStorage(address, slot);
    return account.slots?.get(bytesToHex(slot)) ?? (account.isCleared ? undefined : this.#base.readStorage(address, slot));
  }

  readCode(codeHash: Uint8Array): Uint8Array {
    return this.#codes.get(bytesToHex(codeHash)) ?? this.#base.readCode(codeHash);
  }

  readBlockHash(number: number): Uint8Array | undefined {
    return this.#hashes.get(number) ?? this.#base.readBlockHash(number);
  }
}
