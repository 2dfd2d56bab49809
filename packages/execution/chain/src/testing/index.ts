export { rootsHere } from "../state-roots/root-thread.ts";
export * from "./dev-chain.ts";
export * from "./model-chain.ts";
export * from "./model-state.ts";
