import { uint64ToBytes } from "@rnode/primitives";
import type { L1BlockRef, Log } from "@rnode/protocol";
import { describe, expect, it } from "vitest";
import { SILENT_OBSERVER } from "../observer.ts";
import { configUpdateLog, receiptOf } from "../testing/sim-l1.ts";
import { hashOf, testConfig } from "../testing/test-config.ts";
import { L1Traversal } from "./l1-traversal.ts";
import type { L1Provider } from "./providers.ts";

const config = testConfig({});
const { systemConfig } = config.genesis;
const refOf = (number: number): L1BlockRef => ({
  number,
  hash: hashOf(number),
  parentHash: hashOf(number - 1),
  timestamp: 1000 + number * 12,
});

/** A traversal at block 100 of an L1 whose blocks have these logs. */
function traversalOf(logs: Readonly<Record<number, readonly Log[]>>): L1Traversal {
  const l1 = {
    blockByNumber: async (number: number) => (number > 103 ? undefined : refOf(number)),
    receipts: async (hash: string) => [receiptOf(logs[[101, 102, 103].find((number) => hashOf(number) === hash)!] ?? [])],
  } as unknown as L1Provider;
  const traversal = new L1Traversal(config, l1, SILENT_OBSERVER);
  traversal.reset(refOf(100), systemConfig);
  return traversal;
}

describe("the walk through L1", () => {
  it("has the updates of a block's config with that very block, and keeps them", async () => {
    const newBatcher = new Uint8Array(20).fill(0x42);
    const traversal = traversalOf({
      101: [configUpdateLog(0, newBatcher)],
      102: [configUpdateLog(2, uint64ToBytes(40_000_000)), configUpdateLog(2, uint64ToBytes(50_000_000))],
    });
    expect(traversal.systemConfig).toEqual(systemConfig);
    const seen = [];
    while ((await traversal.advance()).kind === "again") seen.push([traversal.origin.number, traversal.systemConfig]);
    const changed = { ...systemConfig, batcherAddress: newBatcher };
    expect(seen).toEqual([
      [101, changed],
      [102, { ...changed, gasLimit: 50_000_000n }],
      [103, { ...changed, gasLimit: 50_000_000n }],
    ]);
  });

  it("hands out each block once", async () => {
    const traversal = traversalOf({});
    expect(await traversal.next()).toEqual({ kind: "value", value: refOf(100) });
    expect((await traversal.next()).kind).toBe("exhausted");
    await traversal.advance();
    expect(await traversal.next()).toEqual({ kind: "value", value: refOf(101) });
  });
});
