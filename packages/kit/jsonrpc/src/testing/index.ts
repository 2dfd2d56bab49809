/** For tests with unusual clients. */
export { WebSocket } from "ws";
export * from "./lies.ts";
