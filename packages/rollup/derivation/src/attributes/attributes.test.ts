import { type Hex, uint64ToBytes } from "@rnode/primitives";
import type { DepositTransaction, L2BlockRef, Log } from "@rnode/protocol";
import { describe, expect, it } from "vitest";
import type { L1BlockHeader, L1Provider, L2Provider } from "../l1/providers.ts";
import { SILENT_OBSERVER } from "../observer.ts";
import { derivationRules } from "../rules.ts";
import { configUpdateLog, receiptOf } from "../testing/sim-l1.ts";
import { hashOf, testConfig } from "../testing/test-config.ts";
import { forcedTransactions, prepareAttributes } from "./attributes.ts";
import { AttributesStage } from "./attributes-stage.ts";

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

/** Made up: the code of real upgrades is not part of this repository. */
const deposit = (name: string): DepositTransaction => ({
  type: 0x7e,
  sourceHash: new Uint8Array(32).fill(name.length),
  from: new Uint8Array(20),
  to: undefined,
  mint: 0n,
  value: 0n,
  gasLimit: 50_000n,
  isSystemTx: false,
  data: new TextEncoder().encode(name),
});

describe("the transactions that a block contains besides those of a batch", () => {
  it("are L1's attributes, then the users' deposits, then the upgrade of a fork, each in their order", () => {
    const l1Info = deposit("l1");
    const deposits = [deposit("user A"), deposit("user B")];
    const upgrades = [deposit("deploy"), deposit("point proxy"), deposit("enable")];
    expect(forcedTransactions({ l1Info, deposits, upgrades })).toEqual([l1Info, ...deposits, ...upgrades]);
    expect(forcedTransactions({ l1Info, deposits: [], upgrades })).toEqual([l1Info, ...upgrades]);
    expect(forcedTransactions({ l1Info, deposits: [], upgrades: [] })).toEqual([l1Info]);
  });
});

function prepare(epoch: L1BlockHeader, logs: readonly Log[] = []) {
  const l1 = {
    blockByNumber: async () => undefined,
    blockByHash: async (hash: string) => (hash === epoch.hash ? epoch : undefined),
    receipts: async () => [receiptOf(logs)],
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

describe("the system config of the next block", () => {
  const gasLimit = (value: number): Log => configUpdateLog(2, uint64ToBytes(value));
  const limitOf = async (epoch: L1BlockHeader, logs: readonly Log[]): Promise<bigint | undefined> => {
    const pulled = await prepare(epoch, logs);
    return pulled.kind === "value" ? pulled.value.gasLimit : undefined;
  };

  it("has the updates in the L1 block that begins its epoch, the last of each kind", async () => {
    expect(await limitOf(header(101), [])).toBe(30_000_000n);
    expect(await limitOf(header(101), [gasLimit(40_000_000)])).toBe(40_000_000n);
    expect(await limitOf(header(101), [gasLimit(40_000_000), gasLimit(50_000_000)])).toBe(50_000_000n);
  });

  it("is the parent's in the same epoch, whose updates the parent has already", async () => {
    expect(await limitOf(header(100), [gasLimit(40_000_000)])).toBe(30_000_000n);
  });
});

describe("a batch", () => {
  const stageWith = (timestamp: number, parentHash: Hex) => {
    const batch = { parentHash, epoch: header(100), timestamp, transactions: [] };
    const previous = { next: async () => ({ kind: "value", value: { batch, isLastInSpan: true } }) as const };
    const position = { origin: header(102), rules: derivationRules(rollup, 1024), systemConfig: rollup.genesis.systemConfig };
    const l1 = { blockByHash: async () => header(100) } as unknown as L1Provider;
    const l2 = { systemConfigByHash: async () => rollup.genesis.systemConfig } as unknown as L2Provider;
    return new AttributesStage(config, position, previous, { l1, l2 }, SILENT_OBSERVER);
  };

  it("must be for the block after the safe head", async () => {
    expect(await stageWith(1022, parent.hash).next(parent)).toMatchObject({ kind: "value" });
    expect(await stageWith(1024, parent.hash).next(parent)).toMatchObject({ kind: "reset", reason: "parent-mismatch" });
    expect(await stageWith(1022, hashOf(1)).next(parent)).toMatchObject({ kind: "reset", reason: "parent-mismatch" });
  });
});
