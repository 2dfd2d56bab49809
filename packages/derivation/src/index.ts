export type { BatchDropReason, BatchVerdict } from "./batch-verdict.ts";
export type { DerivationConfig } from "./config.ts";
export * from "./observer.ts";
export * from "./pipeline-types.ts";
export * from "./providers.ts";
export * from "./pull.ts";
