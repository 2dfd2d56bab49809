import type { Clock } from "@rnode/primitives";
import { describe, expect, it } from "vitest";
import { ActiveSequencer, type SequencerCandidate } from "./active-sequencer.ts";

class Node implements SequencerCandidate {
  readonly name: string;
  isActive: boolean | "away" = false;
  asked = 0;
  constructor(name: string) {
    this.name = name;
  }
  async isSequencing(): Promise<boolean> {
    this.asked++;
    if (this.isActive === "away") throw new Error("does not answer");
    return this.isActive;
  }
}

function setUp(names: readonly string[]) {
  const nodes = names.map((name) => new Node(name));
  const changes: string[] = [];
  let nowMs = 0;
  const clock: Clock = { unixMs: () => nowMs, monotonicMs: () => nowMs, sleep: () => Promise.resolve() };
  const active = new ActiveSequencer({ checkIntervalMs: 1000 }, nodes, { clock, onChange: (name) => changes.push(name) });
  return { nodes, changes, active, pass: (ms: number) => (nowMs += ms) };
}

describe("ActiveSequencer", () => {
  it("takes a single node without asking", async () => {
    const { nodes, active } = setUp(["a"]);
    expect(await active.index()).toBe(0);
    expect(nodes[0]!.asked).toBe(0);
  });

  it("finds the active one and believes it for a while", async () => {
    const { nodes, changes, active, pass } = setUp(["a", "b", "c"]);
    nodes[1]!.isActive = true;
    expect(await active.index()).toBe(1);
    nodes[1]!.isActive = false;
    nodes[2]!.isActive = true;
    pass(999);
    expect(await active.index()).toBe(1);
    pass(1);
    expect(await active.index()).toBe(2);
    expect(changes).toEqual(["b", "c"]);
  });

  it("confirms that a node is still the active one, however lately it was asked", async () => {
    const { nodes, active } = setUp(["a", "b"]);
    nodes[1]!.isActive = true;
    const index = await active.index();
    await active.confirm(index);
    nodes[1]!.isActive = false;
    await expect(active.confirm(index)).rejects.toMatchObject({ code: "rollup-client/no-active-sequencer" });
    await setUp(["only"]).active.confirm(0);
  });

  it("asks the current one first, and again at once after a failure", async () => {
    const { nodes, changes, active } = setUp(["a", "b"]);
    nodes[1]!.isActive = true;
    await active.index();
    nodes[0]!.isActive = true;
    active.recheck();
    expect(await active.index()).toBe(1);
    nodes[1]!.isActive = "away";
    active.recheck();
    expect(await active.index()).toBe(0);
    expect(changes).toEqual(["b", "a"]);
  });

  it("says of each node why it is not the one", async () => {
    const { nodes, active } = setUp(["a", "b"]);
    nodes[1]!.isActive = "away";
    await expect(active.index()).rejects.toThrow("a: its sequencer is stopped; b: does not answer");
    nodes[0]!.isActive = true;
    expect(await active.index()).toBe(0);
  });
});
