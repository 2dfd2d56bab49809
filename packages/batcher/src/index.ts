export { type Batcher, type BatcherDeps, startBatcher } from "./batcher.ts";
export { BatcherError, type BatcherErrorCode } from "./batcher-error.ts";
export { type RbatcherOptions, rbatcherOptions } from "./options.ts";
