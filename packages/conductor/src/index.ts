export { ConductorError, type ConductorErrorCode } from "./conductor-error.ts";
export { EtcdError, type EtcdErrorCode } from "./etcd/etcd-error.ts";
export type { RunningConductor } from "./open-servers.ts";
export { type RconductorOptions, rconductorOptions } from "./options.ts";
export { startConductor } from "./start-conductor.ts";
