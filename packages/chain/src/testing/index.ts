export * from "./dev-chain.ts";
export * from "./model-chain.ts";
export * from "./model-state.ts";
