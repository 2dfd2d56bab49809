export * from "./chain-store.ts";
