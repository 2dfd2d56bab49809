import { type CollectedMetrics, createMetrics, type MetricFactory, noMetrics } from "@rnode/observe";
import type { OptionsOf } from "@rnode/options";
import { UserError } from "./failure.ts";
import { type Health, startMetricsServer } from "./metrics-server.ts";
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

/**
 * Opens listeners and turns a taken port into an error that names its option.
 *
 * @param wanted ports by the option that chooses them
 * @throws {UserError} a port is taken; the message names the option that chooses another
 */
export async function namingPorts<T>(wanted: Readonly<Record<string, number>>, open: () => T | Promise<T>): Promise<T> {
  try {
    return await open();
  } catch (error) {
    if (!(error instanceof Error && "port" in error)) throw error;
    const option = Object.keys(wanted).find((name) => wanted[name] === error.port);
    throw new UserError(`${error.message}${option === undefined ? "" : ` (--${option} chooses another port)`}`, { cause: error });
  }
}
