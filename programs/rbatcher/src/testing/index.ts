export { SequencerEndpoints } from "../rollup/sequencer-endpoints.ts";
export { awaitedChannel } from "./awaited-channel.ts";
export { parseHostileCli, printHostileRun } from "./hostile-cli.ts";
export { simRollupConfig } from "./sim-rollup.ts";
export { createThrottledLoad } from "./throttled-load.ts";
