export { awaitedChannel } from "./awaited-channel.ts";
export { parseHostileCli, printHostileRun } from "./hostile-cli.ts";
export { type HostileRunOptions, type HostileRunResult, hostileRun } from "./hostile-run.ts";
