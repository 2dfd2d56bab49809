export { AltDaError, type AltDaErrorCode } from "./alt-da-error.ts";
export { DaClient, type DaClientOptions } from "./da-client.ts";
export { createDaMetrics, type DaMetrics } from "./da-metrics.ts";
export { type DaServerOptions, startDaServer } from "./da-server.ts";
export { DaStore } from "./da-store.ts";
export { type AltDaOptions, altDaClientOptions, altDaOptions } from "./options.ts";
