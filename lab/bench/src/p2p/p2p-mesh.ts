import { rollupOf, TestNode, testBlock } from "@rnode/p2p/testing";
import { systemClock } from "@rnode/program";

/**
 * The measurement of a mesh of rnode's nodes in one process; milliseconds from publishing to the last node, one for each block.
 */
export interface MeshRun {
  readonly lastMs: readonly number[];
  /** blocks that every other node received */
  readonly complete: number;
}

const VERSION = 4;
/** Each node dials the nodes at these distances, so it has eight peers. */
const STEPS = [1, 3, 5, 7];
const PAUSE_MS = 200;
const TIMEOUT_MS = 20_000;

const [nodeCount = 20, blockCount = 50] = process.argv.slice(2).map(Number);
const nowSec = (): number => Math.floor(systemClock.unixMs() / 1000);
const rollup = rollupOf(VERSION, nowSec() - 3_600);
const nodes = await Promise.all(Array.from({ length: nodeCount }, () => TestNode.start({ rollup })));
for (const step of STEPS) {
  await Promise.all(nodes.map((node, index) => node.connect(nodes[(index + step) % nodeCount]!)));
}
const lastMs: number[] = [];
let complete = 0;
for (let index = 0; index < blockCount; index++) {
  await systemClock.sleep(PAUSE_MS);
  const publisher = nodes[(7 * index) % nodeCount]!;
  const block = testBlock(rollup, { number: 10_000 + index, timestampSec: nowSec() });
  const beganMs = performance.now();
  await publisher.publish(block);
  const arrivals = await Promise.allSettled(
    nodes.filter((node) => node !== publisher).map((node) => node.arrived(block, TIMEOUT_MS)),
  );
  const times = arrivals.flatMap((each) => (each.status === "fulfilled" ? each.value.atMs : []));
  if (times.length === nodeCount - 1) complete++;
  lastMs.push(Math.max(...times) - beganMs);
}
const run: MeshRun = { lastMs, complete };
process.stdout.write(JSON.stringify(run));
process.exit(0);
