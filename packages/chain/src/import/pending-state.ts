import type { AccountRecord, StateReader } from "@rnode/evm";
import type { BlockGroup } from "@rnode/storage";

/** State of a block on its way: what blocks that are not stored yet changed, over the state of the last one that is. */
export class PendingState implements StateReader {
  #base: StateReader;
  /** newest first */
  readonly #groups: BlockGroup[] = [];
  readonly #hashes = new Map<number, Uint8Array>();

  constructor(base: StateReader) {
    this.#base = base;
  }

  /** The next group of blocks, empty or not; its blocks are seen as they are added. */
  push(group: BlockGroup): void {
    this.#groups.unshift(group);
  }

  /** Tells of the hash of a block that is in no state yet. */
  addHash(number: number, hash: Uint8Array): void {
    this.#hashes.set(number, hash);
  }

  /** The oldest group, of blocks up to `number`, is stored, and `base` is the state of the last of them. */
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

  /** Asked of accounts without code: what storage such an account has, it had before, and no block but one that is stored at once takes it away. */
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

  readBlockHash(number: number): Uint8Array | undefined {
    return this.#hashes.get(number) ?? this.#base.readBlockHash(number);
  }
}
