export type { BlockGossip } from "./block-gossip.ts";
export type { NodeConnections } from "./connections.ts";
export type { Heads } from "./heads.ts";
export { type ManagedEventJson, managedEventToJson } from "./interop/managed-event.ts";
export { type ManagedApi, managedMethods } from "./interop/managed-methods.ts";
export { type NodeDeps, RollupNode } from "./node.ts";
export { type RnodeOptions, rnodeOptions } from "./options.ts";
export { SafeHeadDatabase, type SafeHeadEntry } from "./safe-head-database.ts";
