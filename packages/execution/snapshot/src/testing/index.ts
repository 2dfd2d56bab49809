export * from "./edit-frames.ts";
export * from "./snapshot-chain.ts";
