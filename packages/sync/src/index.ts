export * from "./api.ts";
export { ChainSync, type ChainSyncDeps } from "./chain-sync.ts";
export { HeaderFile } from "./headers/header-file.ts";
export { type HeaderStore, MemoryHeaderStore } from "./headers/header-store.ts";
