export { NetworkProgram } from "./network/network-program.ts";
export { type NetworkRun, NetworkThread } from "./network/network-thread.ts";
export * from "./worker/worker-host.ts";
