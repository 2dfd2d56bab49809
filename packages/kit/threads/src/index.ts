export { type NetworkProgram, serveNetworks } from "./network/network-program.ts";
export { type NetworkRun, NetworkThread } from "./network/network-thread.ts";
export { ThreadHost } from "./network/thread-host.ts";
export * from "./worker/worker-host.ts";
