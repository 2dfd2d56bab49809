export * from "./edit-frames.ts";
export * from "./flaky-server.ts";
export * from "./snapshot-chain.ts";
