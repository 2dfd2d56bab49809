export * from "./go-peer.ts";
export { runInterop } from "./interop.ts";
