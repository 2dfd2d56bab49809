import { describe, expect, it } from "vitest";
import { FakeL1 } from "../testing/fake-chain.ts";
import { CanonicalL1 } from "./canonical-l1.ts";

function setUp() {
  const l1 = new FakeL1(10);
  const canonical = new CanonicalL1(l1);
  canonical.onHead(l1.head);
  const asked = async (numbers: readonly number[]): Promise<number> => {
    l1.calls.length = 0;
    expect(await canonical.check(numbers.map((number) => l1.blocks[number]!))).toMatchObject({ kind: "canonical" });
    return l1.calls.length;
  };
  return { l1, canonical, asked };
}

describe("what is known of the own L1", () => {
  it("is asked once for each block while each head is the child of the one before, and not for the heads", async () => {
    const { l1, canonical, asked } = setUp();
    expect(await asked([3, 5, 9])).toBe(2);
    for (let heads = 0; heads < 5; heads++) {
      l1.extend(1);
      expect(canonical.onHead(l1.head)).toBe(false);
      expect(await asked([3, 5, 9, l1.head.number])).toBe(0);
    }
  });

  it("is asked again after a head that is not the child of the one before", async () => {
    const { l1, canonical, asked } = setUp();
    await asked([3, 9]);
    l1.extend(2);
    expect(canonical.onHead(l1.head)).toBe(true); // a head was missed: it may be another branch
    expect(await asked([3, 9])).toBe(2);
  });

  it.each([
    ["a sibling of the head", 1, 1],
    ["another branch that is longer", 3, 5],
    ["another branch that is shorter", 4, 2],
  ])("forgets what a reorganisation replaces: %s", async (_, depth, count) => {
    const { l1, canonical } = setUp();
    const before = [...l1.blocks];
    await canonical.check(before);
    l1.reorg(depth, count, "b");
    expect(canonical.onHead(l1.head)).toBe(true);
    for (const block of before) {
      const expected = block.number < 10 - depth ? "canonical" : l1.blocks[block.number] === undefined ? "missing" : "replaced";
      expect((await canonical.check([block])).kind).toBe(expected);
    }
  });

  it("does not keep what it read above a new head that is the child of the one before", async () => {
    const { l1, canonical, asked } = setUp();
    l1.extend(3, "b"); // our head does not come to them
    await asked([10, 11, 12]);
    const [ten, eleven] = [l1.blocks[10]!, l1.blocks[11]!];
    l1.reorg(3, 1, "c");
    expect(canonical.onHead(l1.head)).toBe(true);
    expect(await canonical.check([ten])).toMatchObject({ kind: "replaced", got: l1.head.hash });
    expect((await canonical.check([eleven])).kind).toBe("missing");
  });

  it("gives the blocks as the own L1 describes them", async () => {
    const { l1, canonical } = setUp();
    const [three, nine] = [l1.blocks[3]!, l1.blocks[9]!];
    const named = [three, nine].map(({ hash, number }) => ({ hash, number, timestamp: 1, parentHash: hash }));
    expect(await canonical.check(named)).toEqual({ kind: "canonical", blocks: [three, nine] });
  });
});
