export * from "./beacon-client.ts";
export { type BeaconMetrics, createBeaconMetrics } from "./beacon-metrics.ts";
