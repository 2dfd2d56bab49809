export interface Log {
  /** 20 bytes */
  readonly address: Uint8Array;
  /** 32 bytes each, at most four */
  readonly topics: readonly Uint8Array[];
  readonly data: Uint8Array;
}

/** A receipt as consensus knows it; what JSON-RPC adds is computed there. */
export interface Receipt {
  readonly type: number;
  /** 1 success, 0 failure; undefined before Byzantium, which has `stateRoot` instead */
  readonly status: 0 | 1 | undefined;
  /** only before Byzantium */
  readonly stateRoot?: Uint8Array | undefined;
  readonly cumulativeGasUsed: bigint;
  /** 256 bytes */
  readonly bloom: Uint8Array;
  readonly logs: readonly Log[];
  /** the sender's nonce before the deposit; from Regolith */
  readonly depositNonce?: bigint | undefined;
  /** 1 from Canyon: only then do nonce and version enter the receipts root */
  readonly depositReceiptVersion?: bigint | undefined;
}
