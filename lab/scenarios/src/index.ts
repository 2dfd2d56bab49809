export {
  clusterSummaryOf,
  failoverSummaryOf,
  parseCli,
  printCluster,
  printFailover,
  printScenario,
  printSet,
  seedsOf,
  setSummaryOf,
  summaryOf,
  upgradeArtifactsOf,
} from "./cli.ts";
export { runCluster } from "./cluster/run-cluster.ts";
export { runFailover } from "./failover/run-failover.ts";
export { planOf } from "./plan.ts";
export { runPlan, runScenario } from "./run-scenario.ts";
export { runSetScenario } from "./set/run-set.ts";
