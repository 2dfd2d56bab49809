import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type UpgradeArtifactSource, upgradeArtifactsFromFiles } from "@rnode/protocol";
import { type ClusterResult, runCluster } from "./cluster/run-cluster.ts";
import { type FailoverResult, runFailover } from "./failover/run-failover.ts";
import { type PlanLimits, planOf } from "./plan.ts";
import { runScenario, type ScenarioResult } from "./run-scenario.ts";
import { runSetScenario, type SetResult } from "./set/run-set.ts";

const HELP = `npm run scenarios -- [options]
  --seeds=N      run N scenarios (default 1000)
  --from=N       first seed (default 1)
  --seed=N       run one scenario and print what happened
  --jobs=N       processes (default: one a core)
  --late         only scenarios in which verifiers join late, and sync from peers
  --light        only scenarios with nodes in light mode
  --supernode    only scenarios in which a supernode replaces blocks
  --cluster      clusters of sequencers with hostile neighbours instead of networks
  --subblocks    sequencers that publish subblocks and lose their leadership
  --set          sets of chains, and the programs that verify them, instead of networks
  --quiet        with --seed: only how it ended
RNODE_ROLLUP_UPGRADES_DIR: folder with the code that upgrades deploy; without it, no chain goes through Ecotone, Fjord, Isthmus or Jovian`;

export interface CliOptions {
  readonly seeds: number;
  readonly from: number;
  readonly seed: number | undefined;
  readonly jobs: number | undefined;
  readonly isLate: boolean;
  readonly isLight: boolean;
  readonly hasSupernode: boolean;
  readonly isCluster: boolean;
  readonly isSet: boolean;
  readonly isSubblocks: boolean;
  readonly isQuiet: boolean;
}

/** @returns a text: the error, or the requested help */
export function parseCli(args: readonly string[]): CliOptions | { readonly text: string; readonly exitCode: number } {
  const values = { seeds: 1000, from: 1, seed: undefined as number | undefined, jobs: undefined as number | undefined };
  let isQuiet = false;
  let isLate = false;
  let isLight = false;
  let hasSupernode = false;
  let isCluster = false;
  let isSet = false;
  let isSubblocks = false;
  for (const arg of args) {
    const match = /^--(seeds|from|seed|jobs)=(\d+)$/.exec(arg);
    if (match !== null) values[match[1] as keyof typeof values] = Number(match[2]);
    else if (arg === "--quiet") isQuiet = true;
    else if (arg === "--late") isLate = true;
    else if (arg === "--light") isLight = true;
    else if (arg === "--supernode") hasSupernode = true;
    else if (arg === "--cluster") isCluster = true;
    else if (arg === "--set") isSet = true;
    else if (arg === "--subblocks") isSubblocks = true;
    else if (arg === "--help") return { text: HELP, exitCode: 0 };
    else return { text: `${arg} is not an option\n${HELP}`, exitCode: 1 };
  }
  return { ...values, isLate, isLight, hasSupernode, isCluster, isSet, isSubblocks, isQuiet };
}

/** The seeds that are to run. */
export function* seedsOf(
  { from, seeds, isLate, isLight, hasSupernode }: Pick<CliOptions, "from" | "seeds" | "isLate" | "isLight" | "hasSupernode">,
  limits: PlanLimits,
): Generator<number> {
  for (let seed = from, left = seeds; left > 0; seed++) {
    const { late, light, supernode } = planOf(seed, limits);
    if (hasSupernode && supernode === undefined) continue;
    if (isLate && late.length === 0) continue;
    if (isLight && light.length === 0 && late.every(({ follows }) => follows === undefined)) continue;
    left--;
    yield seed;
  }
}

/** The operator's folder of published artifacts, as for the node. */
export function upgradeArtifactsOf(folder: string | undefined): UpgradeArtifactSource | undefined {
  if (folder === undefined || folder === "") return undefined;
  return upgradeArtifactsFromFiles(readdirSync(folder).map((name) => ({ name, content: readFileSync(join(folder, name)) })));
}

/** Runs one seed, and prints its events. @returns the exit code */
export async function printScenario(
  seed: number,
  isQuiet: boolean,
  upgradeArtifact: UpgradeArtifactSource | undefined,
): Promise<number> {
  const result = await runScenario(seed, { isLogKept: !isQuiet, upgradeArtifact });
  const { faults, ...settings } = result.plan;
  console.log(JSON.stringify(settings, undefined, 1));
  for (const fault of faults) console.log(`fault ${JSON.stringify(fault)}`);
  for (const line of result.log) console.log(line);
  console.log(summaryOf(seed, result));
  return result.violations.length === 0 ? 0 : 1;
}

/** The same for a cluster. */
export async function printCluster(seed: number, isQuiet: boolean): Promise<number> {
  const result = await runCluster(seed, !isQuiet);
  for (const line of result.log) console.log(line);
  console.log(clusterSummaryOf(seed, result));
  return result.violations.length === 0 ? 0 : 1;
}

/** The same for a set of chains. */
export async function printSet(seed: number, isQuiet: boolean): Promise<number> {
  const result = await runSetScenario(seed, !isQuiet);
  const { faults, ...settings } = result.plan;
  console.log(JSON.stringify(settings, (_, value) => (typeof value === "bigint" ? String(value) : value), 1));
  for (const fault of faults) console.log(`fault ${JSON.stringify(fault)}`);
  for (const line of result.log) console.log(line);
  console.log(setSummaryOf(seed, result));
  return result.violations.length === 0 ? 0 : 1;
}

/** The same for sequencers with subblocks. */
export function printFailover(seed: number, isQuiet: boolean): number {
  const result = runFailover(seed, !isQuiet);
  for (const line of result.log) console.log(line);
  console.log(failoverSummaryOf(seed, result));
  return result.violations.length === 0 ? 0 : 1;
}

export function failoverSummaryOf(
  seed: number,
  { violations, plan, blocks, leaders, parts, strayParts, promised, explained, fingerprint }: FailoverResult,
): string {
  const broken = Object.entries(explained).map(([reason, count]) => `${count} ${reason}`);
  const what = `${blocks} blocks of ${leaders} leaders, ${parts} parts (${strayParts} stray), ${promised} promises (broken: ${broken.join(", ")}), fingerprint ${fingerprint}`;
  if (violations.length === 0) return `seed ${seed}: ${what}: all rules held`;
  const faults = plan.faults.map((fault) => `  ${JSON.stringify(fault)}`);
  return [
    `seed ${seed}: ${what}: BROKEN`,
    ...violations.slice(0, 5).map(({ rule, detail }) => `  ${rule}: ${detail}`),
    ...faults,
  ].join("\n");
}

export function setSummaryOf(
  seed: number,
  { violations, plan, rounds, denials, executed, executedAtOnce, fingerprint }: SetResult,
): string {
  const what = `${plan.chains.length} chains verified at ${rounds} times, ${executed} messages (${executedAtOnce} at the time of their logs), ${denials} blocks denied, fingerprint ${fingerprint}`;
  if (violations.length === 0) return `seed ${seed}: ${what}: all rules held`;
  return `seed ${seed}: ${what}: BROKEN\n${violations.map(({ rule, detail }) => `  ${rule}: ${detail}`).join("\n")}`;
}

export function clusterSummaryOf(seed: number, { plan, violations, committed, leaders, resumedMs }: ClusterResult): string {
  const faults = plan.faults.map(
    ({ kind, of, fromMs, toMs, strength, isBackward }) =>
      `  ${kind} of ${of} from ${fromMs / 1000} to ${toMs / 1000} s, strength ${strength.toFixed(2)}${isBackward ? ", backward" : ""}`,
  );
  const what = `${committed} committed blocks, ${leaders} leaders, blocks again after ${(resumedMs ?? Number.NaN) / 1000} s`;
  const verdict =
    violations.length === 0 ? "all rules held" : `BROKEN: ${violations.map(({ rule, detail }) => `${rule}: ${detail}`).join("; ")}`;
  return [`seed ${seed}: ${what}: ${verdict}`, ...faults].join("\n");
}

export function summaryOf(
  seed: number,
  { violations, fingerprint, l1Blocks, safeBlocks, replacedL1Blocks, plan, late }: ScenarioResult,
): string {
  const joined = plan.late.length === 0 ? "" : `${plan.late.length} verifiers joined late (${late.misled} misled), `;
  const what = `${l1Blocks} L1 blocks (${replacedL1Blocks} replaced), ${safeBlocks} L2 blocks, ${joined}fingerprint ${fingerprint}`;
  if (violations.length === 0) return `seed ${seed}: ${what}: all invariants held`;
  return `seed ${seed}: ${what}: BROKEN\n${violations.map(({ rule, detail }) => `  ${rule}: ${detail}`).join("\n")}`;
}
