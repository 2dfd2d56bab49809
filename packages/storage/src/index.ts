export { BlockGroup } from "./block-group.ts";
export * from "./chain-store.ts";
export { describePageReading, type PageReading } from "./database/page-reading.ts";
export { type StorageErrorCode, storageAdvice } from "./errors.ts";
export type { GenesisRows } from "./genesis/genesis-writer.ts";
export { type ChainStoreOptions, MIN_HISTORY_BLOCKS, openChainStore } from "./lmdb-chain-store.ts";
export type { NodeGroups } from "./nodes/node-groups.ts";
export { anyClearsStorage, changeCount, clearsStorage } from "./state/state-batch.ts";
