export { type CliOptions, parseCli, printScenario, seedsOf, summaryOf, upgradeArtifactsOf } from "./cli.ts";
export { type Fault, type Plan, planOf } from "./plan.ts";
export { runPlan, runScenario, type ScenarioOptions, type ScenarioResult } from "./run-scenario.ts";
