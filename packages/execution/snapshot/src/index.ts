export * from "./create/create-snapshot.ts";
export * from "./download/download-snapshot.ts";
export * from "./errors.ts";
export type { BlockRecord } from "./format/block-records.ts";
export type { StartReach } from "./reach/start-reach.ts";
export { BlockChecks } from "./read/check-blocks.ts";
export * from "./read/load-snapshot.ts";
export * from "./restore/last-blocks.ts";
export * from "./restore/restore-snapshot.ts";
