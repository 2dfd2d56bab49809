export {
  clusterSummaryOf,
  parseCli,
  printCluster,
  printScenario,
  printSet,
  seedsOf,
  setSummaryOf,
  summaryOf,
  upgradeArtifactsOf,
} from "./cli.ts";
export { runCluster } from "./cluster/run-cluster.ts";
export { planOf } from "./plan.ts";
export { runPlan, runScenario } from "./run-scenario.ts";
export { runSetScenario } from "./set/run-set.ts";
