import { openDashboard } from "@rnode/dashboard";
import { type Program, type ProgramContext, runProgram, type Started } from "@rnode/program";
import { METRICS_PREFIX, opNodeNames } from "./metrics.ts";
import { type RnodeOptions, rnodeOptions } from "./options.ts";
import { configChecks } from "./start/config-checks.ts";
import { openNode } from "./start/open-node.ts";
import { VERSION } from "./version.ts";

const STATUS_INTERVAL_MS = 10_000;

const rnode: Program<(typeof rnodeOptions)["groups"]> = {
  name: "rnode",
  version: VERSION,
  table: rnodeOptions,
  metricsPrefix: METRICS_PREFIX,
  metricAliases: opNodeNames,
  checks: configChecks,
  subcommands: {
    networks: async () => (await import("./commands/networks-command.ts")).networksCommand,
    peers: async () => (await import("./commands/peers-command.ts")).peersCommand,
    derive: async () => (await import("./commands/derive-command.ts")).deriveCommand,
    resync: async () => (await import("./commands/resync-command.ts")).resyncCommand,
    set: async () => (await import("./set/set-command.ts")).setCommand,
  },
  start,
};

/** `rnode`: runs the node itself, or a subcommand. @returns the exit code */
export function main(args: readonly string[], env: NodeJS.ProcessEnv): Promise<number> {
  return runProgram(rnode, args, env);
}

async function start(options: RnodeOptions, context: ProgramContext): Promise<Started> {
  const { scope, log, clock, readiness } = context;
  const dashboard = await openDashboard(options.dashboard, { name: "rnode", version: VERSION, scope, log, clock, readiness });
  const { node, rollup } = await openNode(options, context, { feed: dashboard.feed });
  const { rpcPort, ended } = await node.start(scope);
  log.info("rnode is running", {
    version: VERSION,
    l2ChainId: rollup.l2ChainId,
    l1ChainId: rollup.l1ChainId,
    rpcPort,
    sequencer: options.sequencer.enabled,
  });
  const print = (): void => {
    dashboard.sample();
    log.info("status", node.status());
  };
  return { failure: ended, status: { everyMs: STATUS_INTERVAL_MS, print } };
}
