import { feedStatus, openDashboard } from "@rnode/dashboard";
import { type Program, runProgram } from "@rnode/program";
import { checkSignerFiles } from "@rnode/signer";
import { rproposerOptions } from "./options.ts";
import { startProposer } from "./start-proposer.ts";
import { VERSION } from "./version.ts";

const STATUS_INTERVAL_MS = 10_000;

const rproposer: Program<(typeof rproposerOptions)["groups"]> = {
  name: "rproposer",
  version: VERSION,
  table: rproposerOptions,
  metricsPrefix: "rproposer_default_",
  metricAliases: (name) => [`op_proposer_default_${name}`],
  checks: [({ signer }) => checkSignerFiles(signer)],
  async start(options, context) {
    const dashboard = await openDashboard(options.dashboard, { ...context, name: "rproposer", version: VERSION });
    const { ready, status } = await startProposer(context.scope, options, { ...context, feed: dashboard.feed });
    feedStatus(dashboard.feed, context.readiness, status);
    return { failure: ready, status: { everyMs: STATUS_INTERVAL_MS, print: () => context.log.info("status", status()) } };
  },
};

/** Runs `rproposer`. @returns the exit code */
export function main(args: readonly string[], env: NodeJS.ProcessEnv): Promise<number> {
  return runProgram(rproposer, args, env);
}
