export * from "./log-format.ts";
export * from "./log-level.ts";
export * from "./logger.ts";
export * from "./metrics.ts";
