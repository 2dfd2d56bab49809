export * from "./feed.ts";
export * from "./level-methods.ts";
export * from "./log-format.ts";
export * from "./log-level.ts";
export * from "./logger.ts";
export * from "./logger-type.ts";
export * from "./metrics.ts";
