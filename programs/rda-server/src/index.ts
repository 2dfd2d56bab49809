export { type DaServerOptions, startDaServer } from "./da-server.ts";
export { DaStore } from "./da-store.ts";
