export { SequencerEndpoints } from "../sequencer-endpoints.ts";
export { awaitedChannel } from "./awaited-channel.ts";
export { parseHostileCli, printHostileRun } from "./hostile-cli.ts";
export { type HostileRunOptions, type HostileRunResult, hostileRun } from "./hostile-run.ts";
export { simRollupConfig } from "./sim-rollup.ts";
export { createThrottledLoad, type ThrottledLoad } from "./throttled-load.ts";
