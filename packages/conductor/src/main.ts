import { feedStatus, openDashboard } from "@rnode/dashboard";
import { type Program, runProgram } from "@rnode/program";
import { rconductorOptions } from "./options.ts";
import { startConductor } from "./start-conductor.ts";
import { VERSION } from "./version.ts";

const STATUS_INTERVAL_MS = 10_000;

const rconductor: Program<(typeof rconductorOptions)["groups"]> = {
  name: "rconductor",
  version: VERSION,
  table: rconductorOptions,
  metricsPrefix: "rconductor_default_",
  metricAliases: (name) => [`op_conductor_${name}`],
  async start(options, context) {
    const dashboard = await openDashboard(options.dashboard, { ...context, name: "rconductor", version: VERSION });
    const { ready, status } = await startConductor(context.scope, options, context);
    feedStatus(dashboard.feed, context.readiness, status);
    return { failure: ready, status: { everyMs: STATUS_INTERVAL_MS, print: () => context.log.info("status", status()) } };
  },
};

/** Runs `rconductor`. @returns the exit code */
export function main(args: readonly string[], env: NodeJS.ProcessEnv): Promise<number> {
  return runProgram(rconductor, args, env);
}
