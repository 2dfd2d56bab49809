import type { BlockMessages } from "./block-messages.ts";
import type { ExecutingMessage } from "./executing-message.ts";

interface Node {
  readonly chainId: bigint;
  readonly message: ExecutingMessage;
  /** nodes that this one depends on */
  readonly dependsOn: Node[];
  /** number of nodes that depend on this one and are not resolved */
  dependents: number;
}

/**
 * The chains whose blocks take part in a cycle of messages that are initiated and executed at one time. Each such message depends on the one
 * before it in its block, and on the last one that its initiating chain executes up to the initiating log. Messages on which nothing depends are
 * taken away until none is left; what remains is a cycle, or something that a cycle depends on. Implementations agree on that exactly: optimism
 * v1.19.6 `op-supernode/supernode/activity/interop/cycle.go`, `rust/kona/crates/protocol/interop/src/rules.rs`.
 *
 * @param blocks the blocks at `timestamp`, one of each chain that has one
 */
export function chainsInCycles(timestamp: number, blocks: ReadonlyMap<bigint, BlockMessages>): ReadonlySet<bigint> {
  const byChain = new Map<bigint, Node[]>();
  for (const [chainId, { executing }] of blocks) {
    const now = executing.filter((message) => message.timestamp === BigInt(timestamp));
    byChain.set(
      chainId,
      now.map((message) => ({ chainId, message, dependsOn: [], dependents: 0 })),
    );
  }
  const nodes = [...byChain.values()].flat();
  for (const [, chain] of byChain) {
    for (const [index, node] of chain.entries()) {
      const { chainId, logIndex } = node.message;
      const target = byChain.get(chainId)?.findLast(({ message }) => message.executingLogIndex <= logIndex);
      for (const other of [chain[index - 1], target]) {
        if (other === undefined) continue;
        node.dependsOn.push(other);
        other.dependents++;
      }
    }
  }
  const unresolved = new Set(nodes);
  const free = nodes.filter(({ dependents }) => dependents === 0);
  for (let node = free.pop(); node !== undefined; node = free.pop()) {
    unresolved.delete(node);
    for (const other of node.dependsOn) if (--other.dependents === 0) free.push(other);
  }
  return new Set([...unresolved].map(({ chainId }) => chainId));
}
