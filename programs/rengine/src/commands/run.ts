import { openDashboard } from "@rnode/dashboard";
import { type Program, runProgram } from "@rnode/program";
import { startClient } from "../client.ts";
import { configChecks } from "../config-checks.ts";
import { gethAndRethNames } from "../head-metrics.ts";
import { clientTable } from "../options.ts";
import { describeError } from "../setup/describe-error.ts";
import { VERSION } from "../version.ts";
import { subcommands } from "./subcommands.ts";

const STATUS_INTERVAL_MS = 10_000;
const DEV_STATUS_INTERVAL_MS = 60_000;

const rengine: Program<(typeof clientTable)["groups"]> = {
  name: "rengine",
  version: `v${VERSION}`,
  table: clientTable,
  subcommands,
  checks: configChecks,
  describe: describeError,
  metricsPrefix: "rengine_",
  metricAliases: gethAndRethNames,
  async start(options, context) {
    if (options.dev.enabled) {
      const { startDevClient } = await import("../dev/start-dev.ts");
      if (options.dashboard.enabled)
        context.log.warn("--dashboard has no effect with --dev: the page does not show a development chain");
      const { banner, status } = await startDevClient(context.scope, options, context);
      process.stdout.write(banner);
      return { status: { everyMs: DEV_STATUS_INTERVAL_MS, print: () => context.log.debug("status", status()) } };
    }
    const dashboard = await openDashboard(options.dashboard, { ...context, name: "rengine", version: `v${VERSION}` });
    const { failure, status } = await startClient(context.scope, options, { ...context, feed: dashboard.feed });
    const print = (): void => {
      dashboard.sample();
      context.log.info("status", status());
    };
    return { failure, status: { everyMs: STATUS_INTERVAL_MS, print } };
  },
};

/** `rengine` without a subcommand. @returns the exit code */
export function runClient(args: readonly string[], env: NodeJS.ProcessEnv): Promise<number> {
  return runProgram(rengine, args, env);
}
