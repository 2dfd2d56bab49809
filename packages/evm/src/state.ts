/** An account as execution sees it. */
export interface AccountRecord {
  readonly nonce: bigint;
  readonly balance: bigint;
  /** 32 bytes; keccak256 of no bytes for an account without code */
  readonly codeHash: Uint8Array;
}

/**
 * The state a block executes on: synchronous, and constant while the block runs. The engine asks only for what it has not
 * seen in this block. Implemented by the database's views, by a witness, by plain maps in tests.
 */
export interface StateReader {
  /** undefined: no such account. `address`: 20 bytes, valid only during the call */
  readAccount(address: Uint8Array): AccountRecord | undefined;
  /** 32 bytes, big-endian; undefined is zero. `slot`: 32 bytes. Both arguments are valid only during the call */
  readStorage(address: Uint8Array, slot: Uint8Array): Uint8Array | undefined;
  /** never asked for the empty code hash; throws when unknown, because that is a broken database or witness */
  readCode(codeHash: Uint8Array): Uint8Array;
  /**
   * whether the account has any storage; asked when a contract is created over an account that exists (EIP-7610). Left out: there is none,
   * which holds on every chain that began with EIP-161
   */
  hasStorage?(address: Uint8Array): boolean;
  /** hash of an ancestor, undefined when unknown; only asked within the last 256 blocks */
  readBlockHash(number: number): Uint8Array | undefined;
}

/** What became of one account in a block. */
export interface AccountChange {
  /** 20 bytes */
  readonly address: Uint8Array;
  /** undefined: did not exist before the block */
  readonly before: AccountRecord | undefined;
  /** undefined: does not exist after the block */
  readonly after: AccountRecord | undefined;
  /** all storage of before the block is gone (self-destruct, or created over); `storage` then lists what was written after */
  readonly storageCleared: boolean;
  /** changed slots only: 32-byte slot, 32-byte value before and after (zero: none) */
  readonly storage: readonly { readonly slot: Uint8Array; readonly before: Uint8Array; readonly after: Uint8Array }[];
}
