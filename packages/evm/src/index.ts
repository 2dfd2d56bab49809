export * from "./execution.ts";
export * from "./state.ts";
