export * from "./chain-store.ts";
export type { StorageErrorCode } from "./errors.ts";
export { type ChainStoreOptions, MIN_HISTORY_BLOCKS, openChainStore } from "./lmdb-chain-store.ts";
