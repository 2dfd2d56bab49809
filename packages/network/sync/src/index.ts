export * from "./api.ts";
export { verifiedBody } from "./blocks/verified-body.ts";
export { ChainSync } from "./chain-sync.ts";
export { HeaderFile } from "./headers/header-file.ts";
export { type HashedHeader, hashedHeader } from "./headers/verified-header.ts";
export { KeptState } from "./snap/kept-state.ts";
export { type FetchedRows, StateDownload, type StateDownloadDeps } from "./snap/state-download.ts";
