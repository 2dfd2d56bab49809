export * from "./block.ts";
export * from "./chain-config.ts";
export * from "./forks.ts";
export * from "./payload.ts";
export * from "./receipt.ts";
export * from "./refs.ts";
export * from "./rollup-config.ts";
export * from "./transaction.ts";
