import { WebSocket } from "undici";
import { treeCpuSec } from "../common/process-usage.ts";
import { feedOf, GAS_LIMIT, newTransfers, quantile, startNode, tableOf } from "./load.ts";
import { type PacedBlock, PacedSequencer } from "./paced-sequencer.ts";

interface Side {
  readonly name: string;
  readonly sequencer: PacedSequencer;
  readonly blocks: PacedBlock[];
  cpuMs: number;
}

/**
 * Blocks at full load: a block's worth of transfers waits in the pool, and as many come during each block. A sequencer whose stream is read and
 * one without subblocks take turns, with the same transactions.
 */
export async function measureProduction(blocks: number, rounds: number): Promise<string> {
  const publishing = await startNode(["--subblocks"]);
  const plain = await startNode([]);
  try {
    const reader = new WebSocket(publishing.streamUrl);
    const side = async (name: string, program: typeof plain): Promise<Side> => {
      return { name, sequencer: await PacedSequencer.of(program, GAS_LIMIT), blocks: [], cpuMs: 0 };
    };
    const sides = [await side("with subblocks", publishing), await side("without", plain)];
    const source = newTransfers();
    const warmUp = [...feedOf(source, 1, 2), ...feedOf(source, 3)];
    for (const { sequencer } of sides) await sequencer.run(warmUp);
    for (let round = 0; round < rounds; round++) {
      const feed = feedOf(source, blocks);
      for (const each of round % 2 === 0 ? sides : sides.toReversed()) {
        const { pid } = each.sequencer.program;
        const before = treeCpuSec(pid);
        each.blocks.push(...(await each.sequencer.run(feed)));
        each.cpuMs += 1_000 * (treeCpuSec(pid) - before);
      }
    }
    reader.close();
    return tableOf([COLUMNS, ...sides.map(cellsOf)]);
  } finally {
    await publishing.stop();
    await plain.stop();
  }
}

const COLUMNS = [
  "",
  "blocks",
  "Mgas a block, p50",
  "least",
  "s between blocks, p50",
  "most",
  "ms from due to head, p50",
  "p90",
  "CPU a block, ms",
];

function cellsOf({ name, blocks, cpuMs }: Side): string[] {
  const gas = blocks.map((block) => block.gas / 1e6);
  const intervals = blocks.flatMap(({ intervalMs }) => (intervalMs === undefined ? [] : [intervalMs / 1_000]));
  const late = blocks.map(({ afterDueMs }) => afterDueMs);
  return [
    ...[name, String(blocks.length), quantile(gas, 0.5).toFixed(1), Math.min(...gas).toFixed(1)],
    ...[quantile(intervals, 0.5).toFixed(2), Math.max(...intervals).toFixed(2)],
    ...[quantile(late, 0.5).toFixed(0), quantile(late, 0.9).toFixed(0), (cpuMs / blocks.length).toFixed(0)],
  ];
}
