export * from "./chain-store.ts";
export type { StorageErrorCode } from "./errors.ts";
export { type ChainStoreOptions, openChainStore } from "./lmdb-chain-store.ts";
