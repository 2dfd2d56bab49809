export * from "./api.ts";
export { ChainSync } from "./chain-sync.ts";
export { HeaderFile } from "./headers/header-file.ts";
