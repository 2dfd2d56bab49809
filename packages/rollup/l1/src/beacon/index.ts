export * from "./beacon-client.ts";
export type { BeaconReply } from "./beacon-http.ts";
export { type BeaconMetrics, createBeaconMetrics } from "./beacon-metrics.ts";
