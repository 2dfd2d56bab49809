import type { BlockPeer, DevP2PNetwork } from "@rnode/devp2p";
import { describe, expect, it, vi } from "vitest";
import { LateNetwork } from "./late-network.ts";

function fakeNetwork() {
  const listeners: (() => void)[] = [];
  const added: string[] = [];
  const peers: BlockPeer[] = [];
  const network = {
    identity: { enode: "enode://a" },
    list: () => peers,
    onChange: (listener: () => void) => {
      listeners.push(listener);
      return () => {};
    },
    admin: { addPeer: async (enode: string) => void added.push(enode), peers: async () => [{ enode: "enode://b" }] },
  } as unknown as DevP2PNetwork;
  return { network, listeners, added, peers };
}

describe("a network that is joined later", () => {
  it("has neither node nor peers before, and keeps what operators add", async () => {
    const late = new LateNetwork();
    const listener = vi.fn();
    late.onChange(listener);
    expect([late.node, late.peerCount, late.list(), await late.peers()]).toEqual([undefined, 0, [], []]);
    const { network, listeners, added, peers } = fakeNetwork();
    const adding = late.addPeer("enode://b");
    await Promise.resolve();
    expect(added).toEqual([]);
    late.join(network);
    await adding;
    expect(added).toEqual(["enode://b"]);
    expect(listener).toHaveBeenCalledTimes(1);
    peers.push({} as BlockPeer);
    for (const tell of listeners) tell();
    expect(listener).toHaveBeenCalledTimes(2);
    expect([late.node, late.peerCount, await late.peers()]).toEqual([network.identity, 1, [{ enode: "enode://b" }]]);
  });

  it("tells nobody who does not listen any more", () => {
    const late = new LateNetwork();
    const listener = vi.fn();
    late.onChange(listener)();
    late.join(fakeNetwork().network);
    expect(listener).not.toHaveBeenCalled();
  });
});
