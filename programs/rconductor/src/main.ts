import { feedStatus, openDashboard } from "@rnode/dashboard";
import { readSecretOf } from "@rnode/jsonrpc";
import { type Program, runProgram } from "@rnode/program";
import { EtcdGateway } from "./etcd/gateway-client.ts";
import { rconductorOptions } from "./options.ts";
import { JWT_SECRET } from "./rpc/restricted.ts";
import { startConductor } from "./start-conductor.ts";
import { VERSION } from "./version.ts";

const STATUS_INTERVAL_MS = 10_000;

const rconductor: Program<(typeof rconductorOptions)["groups"]> = {
  name: "rconductor",
  version: VERSION,
  table: rconductorOptions,
  metricsPrefix: "rconductor_default_",
  metricAliases: (name) => [`op_conductor_${name}`],
  checks: [
    ({ rpc: { jwtSecret } }) => jwtSecret !== undefined && readSecretOf(JWT_SECRET, jwtSecret),
    ({ etcd }) => new EtcdGateway(etcd).close(),
  ],
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
