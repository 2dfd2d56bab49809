// A node with its network in a thread, as in rengine. Prints its address, then its resource usage for each input line; ends with
// its input.
import { createInterface } from "node:readline";
import { noMetrics, silentLogger } from "@rnode/observe";
import { systemClock } from "@rnode/program";
import { startTestNode } from "../dist/testing/test-node.js";
import { DevP2PThread } from "../dist/thread/devp2p-thread.js";

const deps = { clock: systemClock, log: silentLogger, metrics: noMetrics, metricsPrefix: undefined };
const node = await startTestNode({
  key: 1,
  blocks: 60,
  plainDataBytes: 10_000,
  maxPeers: 50,
  open: (config, handlers) => DevP2PThread.start(config, handlers, deps),
});
const say = (value) => process.stdout.write(`${JSON.stringify(value)}\n`);
say({
  enode: node.network.identity.enode,
  hashes: node.blocks.slice(1).map(({ commit }) => Buffer.from(commit.hash).toString("hex")),
});
for await (const _ of createInterface({ input: process.stdin })) {
  const { user, system } = process.cpuUsage();
  say({ cpuMs: (user + system) / 1_000, rssMib: process.memoryUsage().rss / 2 ** 20, peers: node.network.list().length });
}
await node.close();
