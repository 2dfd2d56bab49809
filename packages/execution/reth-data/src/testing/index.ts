export * from "./op-reth-fixtures.ts";
