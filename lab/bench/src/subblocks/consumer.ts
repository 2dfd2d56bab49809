import { treeCpuSec } from "../common/process-usage.ts";
import { feedOf, GAS_LIMIT, newTransfers, startNode, tableOf } from "./load.ts";
import { follow, PacedSequencer } from "./paced-sequencer.ts";

/** CPU time a block of two nodes that receive the same blocks at the same time, of which one follows the stream: without transactions, and with full blocks. */
export async function measureConsumer(blocks: number): Promise<string> {
  const publishing = await startNode(["--subblocks"]);
  const following = await startNode([`--flashblocks-url=${publishing.streamUrl}`]);
  const plain = await startNode([]);
  const nodes = [following, plain];
  try {
    const sequencer = await PacedSequencer.of(publishing, GAS_LIMIT);
    const source = newTransfers();
    const toAll = async (payload: Parameters<typeof follow>[1]): Promise<void> => {
      await Promise.all(nodes.map((node) => follow(node, payload)));
    };
    await sequencer.run([...feedOf(source, 4), ...feedOf(source, 5, 0)], toAll); // what follows full blocks takes seconds, too
    const rows: string[][] = [];
    for (const [name, share] of [
      ["idle chain", 0],
      ["full blocks", 1],
    ] as const) {
      const before = nodes.map(({ pid }) => treeCpuSec(pid));
      await sequencer.run(feedOf(source, blocks, share), toAll);
      const cpuMs = nodes.map(({ pid }, index) => (1_000 * (treeCpuSec(pid) - before[index]!)) / blocks);
      rows.push([name, ...cpuMs.map((ms) => ms.toFixed(0))]);
    }
    return tableOf([["CPU a block, ms", "follows the stream", "does not"], ...rows]);
  } finally {
    for (const node of [...nodes, publishing]) await node.stop();
  }
}
