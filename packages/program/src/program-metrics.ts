import { type CollectedMetrics, createMetrics, type MetricFactory, noMetrics } from "@rnode/observe";
import type { OptionsOf } from "@rnode/options";
import { type Health, startMetricsServer } from "./metrics-server.ts";
import { namingPorts } from "./naming-ports.ts";
import type { Scope } from "./scope.ts";
import type { metricsOptions } from "./standard-options.ts";

/** Where the parts of a program declare their metrics. */
export interface ProgramMetrics extends MetricFactory {
  /** Also exposes what the program's other processes collect. */
  include(collect: () => Promise<readonly CollectedMetrics[]>): void;
}

export const noProgramMetrics: ProgramMetrics = { ...noMetrics, include: () => {} };

/** Serves the metrics while the scope is open; if they are switched off, they count nothing. @throws {UserError} the port is taken */
export async function openMetrics(
  options: OptionsOf<typeof metricsOptions>,
  prefix: string,
  { scope, health, onListen }: { scope: Scope; health: () => Health; onListen: (port: number) => void },
): Promise<ProgramMetrics> {
  if (!options.enabled) return noProgramMetrics;
  const metrics = createMetrics({ prefix });
  const sources: (() => Promise<readonly CollectedMetrics[]>)[] = [];
  const expose = async () => metrics.expose((await Promise.all(sources.map((collect) => collect()))).flat());
  const start = () => startMetricsServer({ expose, health }, options);
  const { port } = await scope.use(
    "metrics server",
    () => namingPorts({ "metrics.port": options.port }, start),
    (server) => server.close(),
  );
  onListen(port);
  return { ...metrics, include: (collect) => sources.push(collect) };
}
