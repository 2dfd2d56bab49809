export * from "./chain-types.ts";
