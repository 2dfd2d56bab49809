export * from "./api.ts";
export { describePageReading } from "./database/page-reading.ts";
export { type StorageErrorCode, storageAdvice } from "./errors.ts";
export { type ChainStoreOptions, MIN_HISTORY_BLOCKS, openChainStore } from "./lmdb-chain-store.ts";
export { anyClearsStorage, changeCount, clearsStorage } from "./state/state-batch.ts";
