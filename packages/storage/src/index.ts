export * from "./api.ts";
export type { BlockParts } from "./blocks/block-parts.ts";
export { partsOfBlock } from "./blocks/block-tables.ts";
export { LogMatcher } from "./blocks/log-matcher.ts";
export { rlpDataStart, rlpEnd } from "./blocks/rlp-walk.ts";
export { describePageReading } from "./database/page-reading.ts";
export { type StorageErrorCode, storageAdvice } from "./errors.ts";
export { type ChainStoreOptions, MIN_HISTORY_BLOCKS, openChainStore } from "./lmdb-chain-store.ts";
export { anyClearsStorage, changeCount, clearsStorage } from "./state/state-batch.ts";
