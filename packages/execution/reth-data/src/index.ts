export * from "./errors.ts";
export * from "./open-reth-data.ts";
