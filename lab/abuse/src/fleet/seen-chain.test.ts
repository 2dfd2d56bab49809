import { describe, expect, it } from "vitest";
import { SeenChain } from "./seen-chain.ts";

const block = (number: number, hash = `h${number}`, parentHash = `h${number - 1}`) => ({
  number: `0x${number.toString(16)}`,
  hash,
  parentHash,
});

describe("a client that compares answers", () => {
  it("accepts a chain that grows", () => {
    const seen = new SeenChain();
    expect(seen.block("a", block(7))).toBeUndefined();
    expect(seen.number("b", 8)).toBeUndefined();
    expect(seen.block("c", block(8), 8)).toBeUndefined();
    expect(seen.receipt("d", "0x1", null)).toBeUndefined();
    expect(seen.receipt("d", "0x1", { blockHash: "h9", blockNumber: "0x9" })).toBeUndefined();
    expect(seen.newest).toBe(9);
    expect(seen.receipts).toEqual(["0x1"]);
  });

  it("finds what contradicts earlier answers", () => {
    const seen = new SeenChain();
    seen.block("", block(8));
    seen.receipt("", "0x1", { blockHash: "h8", blockNumber: "0x8" });
    expect(seen.number("n2", 7)).toBe("n2: the head went back from 8 to 7");
    expect(seen.block("n2", block(7))).toBe("n2: the head went back from 8 to 7");
    expect(seen.block("n2", null, 8)).toBe("n2: block 8 disappeared, and 8 was seen");
    expect(seen.block("n2", block(8), 7)).toBe("n2: block 8 for 7");
    expect(seen.block("n2", block(8, "other"))).toBe("n2: block 8 was h8 and is other");
    expect(seen.block("n2", block(9, "h9", "other"))).toBe("n2: the parent of block 9 was h8");
    expect(seen.receipt("n2", "0x1", null)).toBe("n2: the receipt of 0x1 disappeared");
    expect(seen.receipt("n2", "0x1", { blockHash: "other", blockNumber: "0x8" })).toBe("n2: 0x1 moved from block h8 to other");
  });
});
