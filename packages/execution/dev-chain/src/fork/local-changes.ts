import type { StateChanges } from "@rnode/evm";
import { bytesToHex, type Hex } from "@rnode/primitives";

/**
 * Which blocks of a forked chain were the first to change an account or a slot. From that block on the database has its value, be it zero or
 * nothing; before, the endpoint has it.
 */
export class LocalChanges {
  readonly #accounts = new Map<Hex, number>();
  readonly #cleared = new Map<Hex, number>();
  readonly #slots = new Map<Hex, Map<Hex, number>>();

  add(number: number, { accounts }: Pick<StateChanges, "accounts">): void {
    for (const { address, after, storageCleared, storage } of accounts) {
      const key = bytesToHex(address);
      note(this.#accounts, key, number);
      if (storageCleared || after === undefined) note(this.#cleared, key, number);
      if (storage.length === 0) continue;
      let slots = this.#slots.get(key);
      if (slots === undefined) this.#slots.set(key, (slots = new Map()));
      for (const { slot } of storage) note(slots, bytesToHex(slot), number);
    }
  }

  /** Forgets blocks that have left the chain. @param toNumber the last one that stays */
  unwind(toNumber: number): void {
    for (const first of [this.#accounts, this.#cleared, ...this.#slots.values()]) {
      for (const [key, number] of first) if (number > toNumber) first.delete(key);
    }
  }

  hasAccount(address: Uint8Array, at: number): boolean {
    return isBy(this.#accounts.get(bytesToHex(address)), at);
  }

  hasStorage(address: Uint8Array, at: number): boolean {
    return isBy(this.#cleared.get(bytesToHex(address)), at);
  }

  hasSlot(address: Uint8Array, slot: Uint8Array, at: number): boolean {
    const key = bytesToHex(address);
    return isBy(this.#cleared.get(key), at) || isBy(this.#slots.get(key)?.get(bytesToHex(slot)), at);
  }
}

const note = (first: Map<Hex, number>, key: Hex, number: number): void => {
  if (!first.has(key)) first.set(key, number);
};
const isBy = (first: number | undefined, at: number): boolean => first !== undefined && first <= at;
