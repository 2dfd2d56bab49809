import { type CollectedMetrics, createMetrics, type MetricFactory, type MetricsOptions, noMetrics } from "@rnode/observe";
import type { OptionsOf } from "../options/option-group.ts";
import type { metricsOptions } from "../options/standard-options.ts";
import type { Scope } from "../process/scope.ts";
import { type Health, startMetricsServer } from "../servers/metrics-server.ts";
import { namingPorts } from "../servers/naming-ports.ts";

/** Where the parts of a program declare their metrics. */
export interface ProgramMetrics extends MetricFactory {
  /** Also exposes the metrics of the program's other processes. */
  include(collect: () => Promise<readonly CollectedMetrics[]>): void;
}

export const noProgramMetrics: ProgramMetrics = { ...noMetrics, include: () => {} };

export interface OpenMetricsDeps {
  /** prefix of all names, with the underscore */
  readonly prefix: string;
  readonly aliasesOf?: MetricsOptions["aliasesOf"];
  readonly version: string;
  readonly scope: Scope;
  readonly health: () => Health;
  readonly ready: (query?: URLSearchParams) => Health;
  /** whether it has started completely */
  readonly isUp: () => boolean;
  readonly onListen: (port: number) => void;
}

/** Serves the metrics while the scope is open; if they are switched off, they count nothing. @throws {UserError} the port is taken */
export async function openMetrics(options: OptionsOf<typeof metricsOptions>, deps: OpenMetricsDeps): Promise<ProgramMetrics> {
  if (!options.enabled) return noProgramMetrics;
  const { scope, health, ready, onListen } = deps;
  const metrics = createMetrics(deps);
  declareProgram(metrics, deps);
  const sources: (() => Promise<readonly CollectedMetrics[]>)[] = [];
  const expose = async () => metrics.expose((await Promise.all(sources.map((collect) => collect()))).flat());
  const start = () => startMetricsServer({ expose, health, ready }, options);
  const { port } = await scope.use(
    "metrics server",
    () => namingPorts({ "metrics.port": options.port }, start),
    (server) => server.close(),
  );
  onListen(port);
  return { ...metrics, include: (collect) => sources.push(collect) };
}

/** What every program says of itself. */
export function declareProgram(
  m: MetricFactory,
  { version, isUp, ready }: Pick<OpenMetricsDeps, "version" | "isUp" | "ready">,
): void {
  m.gaugesOf<{ version: string }>("info", "The version, as a label.", ["version"], () => [[{ version }, 1]]);
  m.gaugeOf("up", "1 once the program has started completely.", () => (isUp() ? 1 : 0));
  m.gaugeOf("ready", "1 while the program's answers can be relied on: GET /readyz says why not.", () =>
    ready().isHealthy ? 1 : 0,
  );
}
