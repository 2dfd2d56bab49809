import type { ExactInteger } from "@rnode/primitives";

/** An account as execution sees it. */
export interface AccountRecord {
  readonly nonce: bigint;
  readonly balance: bigint;
  /** 32 bytes; keccak256 of no bytes for an account without code */
  readonly codeHash: Uint8Array;
}

/**
 * The state on which a block is executed: synchronous, and constant during the block. The engine reads each account and slot once
 * per block. Implemented by the database's views, by witnesses, and by plain maps in tests.
 */
export interface StateReader {
  /** `undefined`: no such account. `address`: 20 bytes, valid only during the call */
  readAccount(address: Uint8Array): AccountRecord | undefined;
  /** 32 bytes, big-endian; undefined means zero. `slot`: 32 bytes. Both arguments are valid only during the call */
  readStorage(address: Uint8Array, slot: Uint8Array): Uint8Array | undefined;
  /** never called with the empty code hash; throws if the hash is unknown, because the database or witness is broken then */
  readCode(codeHash: Uint8Array): Uint8Array;
  /**
   * whether the account has any storage; called if a contract is created at the address of an existing account (EIP-7610). If
   * omitted, such accounts have no storage, which is true of every chain that started with EIP-161
   */
  hasStorage?(address: Uint8Array): boolean;
  /** hash of an ancestor, undefined if unknown; only called for the last 256 blocks */
  readBlockHash(number: ExactInteger): Uint8Array | undefined;
}

/** The change of one account in a block. */
export interface AccountChange {
  /** 20 bytes */
  readonly address: Uint8Array;
  /** `undefined`: the account did not exist before the block */
  readonly before: AccountRecord | undefined;
  /** `undefined`: the account does not exist after the block */
  readonly after: AccountRecord | undefined;
  /**
   * the storage from before the block was deleted (self-destruct, or a creation at the same address); `storage` lists the slots
   * written afterwards
   */
  readonly storageCleared: boolean;
  /** changed slots only: 32-byte slot, 32-byte value before and after (zero: none) */
  readonly storage: readonly { readonly slot: Uint8Array; readonly before: Uint8Array; readonly after: Uint8Array }[];
}
