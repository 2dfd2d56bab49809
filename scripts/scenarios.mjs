// `npm run scenarios -- [--cluster | --set | --subblocks] --seeds=N [--seed=N]`: builds outdated files and runs networks with faults under a simulated
// clock.
import { fork } from "node:child_process";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { buildEngine, buildTypeScript } from "./lib/build-steps.mjs";
import { ROOT } from "./lib/stamp.mjs";

const load = () => import(join(ROOT, "lab", "scenarios", "lib", "index.js"));

if (process.send === undefined) await main();
else await work();

async function main() {
  buildEngine();
  buildTypeScript();
  const { parseCli, printCluster, printFailover, printScenario, printSet, seedsOf, upgradeArtifactsOf } = await load();
  const options = parseCli(process.argv.slice(2));
  if ("text" in options) {
    console.log(options.text);
    process.exit(options.exitCode);
  }
  const artifacts = upgradeArtifactsOf(process.env.RNODE_ROLLUP_UPGRADES_DIR);
  if (options.seed !== undefined) {
    const { seed, isQuiet, isCluster, isSet, isSubblocks } = options;
    const print = isSubblocks ? printFailover : isSet ? printSet : isCluster ? printCluster : printScenario;
    const exitCode = await print(seed, isQuiet, artifacts);
    process.stdout.write("", () => process.exit(exitCode)); // after all lines, also into a pipe
    return;
  }
  const { jobs = availableParallelism() } = options;
  const startMs = Date.now();
  const total = { done: 0, broken: 0, l1Blocks: 0, l2Blocks: 0, replaced: 0, labelsGoneBack: 0, synced: 0, misled: 0 };
  const seeds = seedsOf(options, { hasUpgradeCode: artifacts !== undefined });
  await Promise.all(
    Array.from({ length: jobs }, () => {
      const worker = fork(fileURLToPath(import.meta.url), [], { execArgv: ["--max-semi-space-size=64"] }); // less garbage collection
      const give = () => {
        const { value: seed, done } = seeds.next();
        const { isCluster, isSet, isSubblocks } = options;
        worker.send(done ? { end: true } : { seed, isCluster, isSet, isSubblocks });
      };
      worker.on("message", ({ summary, isBroken, l1Blocks, l2Blocks, replaced, labelsGoneBack, late }) => {
        if (summary !== undefined) {
          total.done++;
          total.l1Blocks += l1Blocks;
          total.l2Blocks += l2Blocks;
          total.replaced += replaced;
          total.labelsGoneBack += labelsGoneBack;
          total.synced += late.synced;
          total.misled += late.misled;
          if (isBroken) {
            total.broken++;
            console.log(summary);
          }
        }
        give();
      });
      return new Promise((resolve, reject) => {
        worker.on("exit", (code) => (code === 0 ? resolve() : reject(new Error(`a worker ended with ${code}`))));
      });
    }),
  );
  const seconds = (Date.now() - startMs) / 1000;
  const { done, broken, l1Blocks, l2Blocks, replaced, labelsGoneBack, synced, misled } = total;
  const { isCluster, isSet, isSubblocks } = options;
  const what = isSubblocks ? "failovers" : isSet ? "sets" : "clusters";
  if (isCluster || isSet || isSubblocks) console.log(`${done} ${what} in ${seconds.toFixed(0)} s`);
  else printTotals();
  console.log(`${done - broken} held, ${broken} broken`);
  process.exit(broken === 0 ? 0 : 1);

  function printTotals() {
    console.log(
      `${done} scenarios in ${seconds.toFixed(0)} s: ${l1Blocks} L1 blocks (${replaced} replaced), ${l2Blocks} L2 blocks`,
    );
    console.log(`safe labels went back, to be derived again from the same L1 blocks: ${labelsGoneBack} times`);
    console.log(`verifiers that joined late and synced from peers: ${synced}, of which the sequencer misled ${misled}`);
  }
}

async function work() {
  const lab = await load();
  const { clusterSummaryOf, failoverSummaryOf, runCluster, runFailover, runScenario, runSetScenario } = lab;
  const { setSummaryOf, summaryOf, upgradeArtifactsOf } = lab;
  const none = { l1Blocks: 0, l2Blocks: 0, replaced: 0, labelsGoneBack: 0, late: { synced: 0, misled: 0 } };
  const upgradeArtifact = upgradeArtifactsOf(process.env.RNODE_ROLLUP_UPGRADES_DIR);
  process.on("message", async ({ seed, isCluster, isSet, isSubblocks, end }) => {
    if (end) process.exit(0);
    if (isSubblocks) {
      const result = runFailover(seed);
      process.send({ summary: failoverSummaryOf(seed, result), isBroken: result.violations.length > 0, ...none });
      return;
    }
    if (isCluster || isSet) {
      const result = await (isSet ? runSetScenario(seed) : runCluster(seed));
      const summary = isSet ? setSummaryOf(seed, result) : clusterSummaryOf(seed, result);
      process.send({ summary, isBroken: result.violations.length > 0, ...none });
      return;
    }
    const result = await runScenario(seed, { upgradeArtifact });
    process.send({
      summary: summaryOf(seed, result),
      isBroken: result.violations.length > 0,
      l1Blocks: result.l1Blocks,
      l2Blocks: result.safeBlocks,
      replaced: result.replacedL1Blocks,
      labelsGoneBack: result.labelsGoneBack,
      late: result.late,
    });
  });
  process.send({});
}
