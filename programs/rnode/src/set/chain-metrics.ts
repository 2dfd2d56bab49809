import { createMetrics, withLabels } from "@rnode/observe";
import { noProgramMetrics, type ProgramMetrics } from "@rnode/program";
import { METRICS_PREFIX } from "../metrics.ts";

/** The metrics of one chain of a set: those of a node, with the label `chain`. @param isEnabled whether the program has any */
export function chainMetrics(metrics: ProgramMetrics, isEnabled: boolean, chainId: bigint): ProgramMetrics {
  if (!isEnabled) return noProgramMetrics;
  const labels = { chain: String(chainId) };
  const own = createMetrics({ prefix: METRICS_PREFIX, labels, ofProcess: false });
  metrics.include(async () => [await own.collect()]);
  return { ...own, include: (collect) => metrics.include(async () => (await collect()).map((one) => withLabels(one, labels))) };
}
