export {
  type CliOptions,
  clusterSummaryOf,
  parseCli,
  printCluster,
  printScenario,
  seedsOf,
  summaryOf,
  upgradeArtifactsOf,
} from "./cli.ts";
export { type ClusterResult, runCluster } from "./cluster/run-cluster.ts";
export { type Fault, type Plan, planOf } from "./plan.ts";
export { runPlan, runScenario, type ScenarioOptions, type ScenarioResult } from "./run-scenario.ts";
