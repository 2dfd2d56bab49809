import type { L2BlockRef } from "@rnode/protocol";
import { describe, expect, it } from "vitest";
import { prepareAttributes } from "./attributes.ts";
import type { L1BlockHeader } from "./providers.ts";
import { hashOf, testConfig } from "./testing/test-config.ts";

const rollup = testConfig({});
const config = { rollup, l1BlobSchedule: [] };

const header = (number: number, over: Partial<L1BlockHeader> = {}): L1BlockHeader => ({
  number,
  hash: hashOf(number),
  parentHash: hashOf(number - 1),
  timestamp: 1000 + (number - 100) * 12,
  baseFeePerGas: 7n,
  mixHash: new Uint8Array(32),
  ...over,
});
const parent: L2BlockRef = {
  number: 50,
  hash: hashOf(500),
  parentHash: hashOf(499),
  timestamp: 1020,
  l1Origin: { number: 100, hash: hashOf(100) },
  sequenceNumber: 3,
};

function prepare(epoch: L1BlockHeader) {
  const l1 = {
    blockByNumber: async () => undefined,
    blockByHash: async (hash: string) => (hash === epoch.hash ? epoch : undefined),
    receipts: async () => [],
    transactions: async () => [],
  };
  return prepareAttributes(config, { l1, l2: { systemConfigByHash: async () => rollup.genesis.systemConfig } }, parent, epoch);
}

describe("the epoch of the next block", () => {
  it("is the parent's, or the L1 block after it", async () => {
    expect(await prepare(header(100))).toMatchObject({ kind: "value", value: { timestamp: 1022 } });
    expect(await prepare(header(101))).toMatchObject({ kind: "value", value: { timestamp: 1022 } });
  });

  it("with the parent's number must be the same block", async () => {
    expect(await prepare(header(100, { hash: hashOf(1) }))).toMatchObject({ kind: "reset", reason: "origin-mismatch" });
  });

  it("must build on the parent's", async () => {
    expect(await prepare(header(101, { parentHash: hashOf(1) }))).toMatchObject({ kind: "reset", reason: "origin-mismatch" });
  });

  it("must not be newer than the block", async () => {
    expect(await prepare(header(101, { timestamp: 1022 }))).toMatchObject({ kind: "value" });
    expect(await prepare(header(101, { timestamp: 1023 }))).toMatchObject({ kind: "reset", reason: "time-invariant" });
  });

  it("must exist", async () => {
    const gone = { ...header(101), hash: hashOf(2) };
    const l1 = {
      blockByNumber: async () => undefined,
      blockByHash: async () => undefined,
      receipts: async () => [],
      transactions: async () => [],
    };
    const l2 = { systemConfigByHash: async () => rollup.genesis.systemConfig };
    expect(await prepareAttributes(config, { l1, l2 }, parent, gone)).toMatchObject({ kind: "reset", reason: "l1-reorg" });
  });
});
