/** Errors of the engine itself; what contracts do wrong is a `HaltReason`, a bad transaction a `TransactionRejection`. */
export type EvmErrorCode =
  /** the engine began another block: this execution is over */
  | "evm/stale-block"
  /** linear memory is exhausted: more than 4 GB of EVM memory, state and code in one block */
  | "evm/out-of-memory"
  | "evm/too-many-blobs"
  | "evm/too-many-moved-precompiles";
