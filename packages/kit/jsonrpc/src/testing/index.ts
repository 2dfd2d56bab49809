/** For tests that send what no client of ours would. */
export { WebSocket } from "ws";
export * from "./lies.ts";
