export { AltDaError } from "./alt-da-error.ts";
export { DaClient, type DaClientOptions } from "./da-client.ts";
export { createDaMetrics, type DaMetrics } from "./da-metrics.ts";
export { altDaClientOptions, altDaOptions } from "./options.ts";
