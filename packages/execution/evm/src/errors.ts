/** Errors of the engine itself; a fault of a contract is a `HaltReason`, an invalid transaction a `TransactionRejection`. */
export type EvmErrorCode =
  /** the engine has begun another block, so this execution is over */
  | "evm/stale-block"
  /** linear memory is exhausted: more than 4 GB of EVM memory, state and code in one block */
  | "evm/out-of-memory"
  | "evm/too-many-blobs"
  | "evm/too-many-moved-precompiles";
