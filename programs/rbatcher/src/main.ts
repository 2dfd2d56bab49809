import { feedStatus, openDashboard } from "@rnode/dashboard";
import { readSecretOf } from "@rnode/jsonrpc";
import { type Program, runProgram } from "@rnode/program";
import { checkSignerFiles } from "@rnode/signer";
import { L2_JWT_SECRET, startBatcher } from "./batcher.ts";
import { rbatcherOptions } from "./options.ts";
import { VERSION } from "./version.ts";

const STATUS_INTERVAL_MS = 10_000;

const rbatcher: Program<(typeof rbatcherOptions)["groups"]> = {
  name: "rbatcher",
  version: VERSION,
  table: rbatcherOptions,
  metricsPrefix: "rbatcher_default_",
  metricAliases: (name) => [`op_batcher_default_${name}`],
  checks: [
    ({ signer }) => checkSignerFiles(signer),
    ({ endpoints: { l2JwtSecret } }) => l2JwtSecret !== undefined && readSecretOf(L2_JWT_SECRET, l2JwtSecret),
  ],
  async start(options, context) {
    const dashboard = await openDashboard(options.dashboard, { ...context, name: "rbatcher", version: VERSION });
    const { ready, status } = await startBatcher(context.scope, options, { ...context, feed: dashboard.feed });
    feedStatus(dashboard.feed, context.readiness, status);
    return { failure: ready, status: { everyMs: STATUS_INTERVAL_MS, print: () => context.log.info("status", status()) } };
  },
};

/** Runs `rbatcher`. @returns the exit code */
export function main(args: readonly string[], env: NodeJS.ProcessEnv): Promise<number> {
  return runProgram(rbatcher, args, env);
}
