export * from "./data-directory.ts";
export * from "./mdbx-writer.ts";
export * from "./op-reth-fixtures.ts";
