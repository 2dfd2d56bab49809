import { until } from "@rnode/program/testing";
import { afterEach, describe, expect, it } from "vitest";
import { startTestNode, type TestNode, type TestNodeOptions } from "../testing/test-node.ts";

const nodes: TestNode[] = [];
async function start(key: number, bootnodes: readonly string[], more: Partial<TestNodeOptions> = {}): Promise<TestNode> {
  const node = await startTestNode({ key, blocks: 1, discovery: { enabled: true, bootnodes }, ...more });
  nodes.push(node);
  return node;
}
afterEach(async () => {
  await Promise.all(nodes.splice(0).map((node) => node.close()));
});

describe("discovery", () => {
  it.each(["enode", "enr"] as const)("leads nodes to each other that know only a boot node, by its %s", async (form) => {
    // a full boot node: the other nodes must find each other
    const boot = await start(1, [], { maxPeers: 1 });
    const text = boot.network.identity[form]!;
    const others = [await start(2, [text]), await start(3, [text])];
    const ids = others.map(({ network }) => network.identity.publicKey);
    await until("they are connected", () =>
      others.every(({ network }, index) => network.list().some(({ id }) => id === ids[1 - index])),
    );
    expect(others[0]!.network.identity.enr).toMatch(/^enr:/);
  });

  it("begins with the peers of an earlier run, without any boot node", async () => {
    // Full, so it forwards nodes only by discovery.
    const known = await start(1, [], { maxPeers: 2 });
    const node = await start(2, []);
    await node.network.admin.addPeer(known.network.identity.enode);
    await until("they are connected", () => node.network.list().length === 1);
    const newcomer = await start(3, [known.network.identity.enode]);
    const { publicKey } = newcomer.network.identity;
    await node.restart();
    await until("it finds the newcomer", () => node.network.list().some(({ id }) => id === publicKey));
  });

  it("does not connect with nodes of other chains", async () => {
    const boot = await start(1, []);
    const { enode } = boot.network.identity;
    const stranger = await start(2, [enode], { seed: 2 });
    const friend = await start(3, [enode]);
    await until("the friend is connected", () => friend.network.list().length > 0);
    expect(stranger.network.list()).toEqual([]);
  });
});
