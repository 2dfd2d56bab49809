export { clusterSummaryOf, parseCli, printCluster, printScenario, seedsOf, summaryOf, upgradeArtifactsOf } from "./cli.ts";
export { runCluster } from "./cluster/run-cluster.ts";
export { planOf } from "./plan.ts";
export { runPlan, runScenario } from "./run-scenario.ts";
