import type { AccountRecord, StateReader } from "@rnode/evm";
import type { ExactInteger } from "@rnode/primitives";
import type { BlockGroup } from "@rnode/storage";

/**
 * The state for executing blocks of an import: the changes of blocks that are not stored yet, on top of the state of the last stored
 * block.
 */
export class PendingState implements StateReader {
  #base: StateReader;
  /** newest first */
  readonly #groups: BlockGroup[] = [];
  readonly #hashes = new Map<ExactInteger, Uint8Array>();

  constructor(base: StateReader) {
    this.#base = base;
  }

  /** Adds the next group of blocks, which may be empty; changes of blocks added to it later are visible at once. */
  push(group: BlockGroup): void {
    this.#groups.unshift(group);
  }

  /** Adds the hash of a block that is not stored yet. */
  addHash(number: number, hash: Uint8Array): void {
    this.#hashes.set(number, hash);
  }

  /** The oldest group, with blocks up to `number`, is now stored, and `base` is the state after the last of them. */
  rebase(base: StateReader, number: number): void {
    this.#base = base;
    this.#groups.pop();
    for (const known of this.#hashes.keys()) if (known <= number) this.#hashes.delete(known);
  }

  readAccount(address: Uint8Array): AccountRecord | undefined {
    for (const group of this.#groups) {
      const account = group.account(address);
      if (account !== undefined) return account;
    }
    return this.#base.readAccount(address);
  }

  readStorage(address: Uint8Array, slot: Uint8Array): Uint8Array | undefined {
    for (const group of this.#groups) {
      const value = group.slot(address, slot);
      if (value !== undefined) return value;
    }
    return this.#base.readStorage(address, slot);
  }

  /**
   * Needed only for accounts without code. Such an account has no storage that it did not have in the base: only a block that is stored
   * at once can clear storage.
   */
  hasStorage(address: Uint8Array): boolean {
    return this.#base.hasStorage?.(address) ?? false;
  }

  readCode(codeHash: Uint8Array): Uint8Array {
    for (const group of this.#groups) {
      const code = group.code(codeHash);
      if (code !== undefined) return code;
    }
    return this.#base.readCode(codeHash);
  }

  readBlockHash(number: ExactInteger): Uint8Array | undefined {
    return this.#hashes.get(number) ?? this.#base.readBlockHash(number);
  }
}
