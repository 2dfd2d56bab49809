export * from "./metrics-server.ts";
export * from "./standard-options.ts";
export * from "./stop-signal.ts";
export * from "./system-clock.ts";
