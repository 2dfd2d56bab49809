import { hexToBytes } from "@rnode/primitives";
import {
  encodeTransaction,
  l1InfoDeposit,
  NETWORKS,
  type Network,
  type RollupConfig,
  rollupConfigOf,
  systemConfigFromPayload,
} from "@rnode/protocol";
import { describe, expect, it } from "vitest";
import type { L1BlockHeader } from "../l1/providers.ts";
import { hashOf } from "../testing/test-config.ts";
import { prepareAttributes } from "./attributes.ts";

/** Gas of Karst's upgrade transactions. docs/protocol/02-derivation.md#network-upgrade-transactions */
const UPGRADE_GAS = 55_370_657n;
const GAS_LIMIT = 30_000_000n;

/** Networks whose Karst is not at genesis, by whether the gas stays, as their nodes have it on the chain. */
const crossing = NETWORKS.flatMap((network) => {
  const { karst } = network.forkTimes;
  return karst === undefined || karst <= network.genesis.l2TimeSec ? [] : [[network.name, network, karst] as const];
});

/** The gas limit of the block after the first one of Karst, derived from that block as the engine returns it. */
async function gasLimitAfter(rollup: RollupConfig, karstSec: number): Promise<bigint | undefined> {
  const { blockTimeSec, genesis } = rollup;
  const blocks = Math.ceil((karstSec - genesis.l2TimeSec) / blockTimeSec);
  const timestamp = genesis.l2TimeSec + blocks * blockTimeSec;
  const number = genesis.l2.number + blocks;
  const epoch: L1BlockHeader = {
    number: 50_000_000,
    hash: hashOf(7),
    parentHash: hashOf(6),
    timestamp: timestamp - 10,
    baseFeePerGas: 7n,
    mixHash: new Uint8Array(32),
    excessBlobGas: 0n,
  };
  const facts = { ...epoch, hash: hexToBytes(epoch.hash), blobBaseFee: 1n };
  const l1Info = l1InfoDeposit(rollup, facts, genesis.systemConfig, 0, timestamp);
  const payload = {
    timestamp,
    blockNumber: number,
    blockHash: hexToBytes(hashOf(9)),
    parentHash: hexToBytes(hashOf(8)),
    gasLimit: GAS_LIMIT + UPGRADE_GAS,
    extraData: hexToBytes("0x01000000fa000000060000000000000000"),
    transactions: [encodeTransaction(l1Info)],
  } as unknown as Parameters<typeof systemConfigFromPayload>[1];
  const parent = { number, hash: hashOf(9), parentHash: hashOf(8), timestamp, l1Origin: epoch, sequenceNumber: 0 };
  const l1 = {
    blockByNumber: async () => undefined,
    blockByHash: async () => epoch,
    receipts: async () => [],
    transactions: async () => [],
  };
  const l2 = { systemConfigByHash: async () => systemConfigFromPayload(rollup, payload) };
  const pulled = await prepareAttributes({ rollup, l1BlobSchedule: [] }, { l1, l2 }, parent, epoch);
  return pulled.kind === "value" ? pulled.value.gasLimit : undefined;
}

describe("the block after Karst's first", () => {
  it.each(crossing)("of %s has the gas of the upgrade if the network keeps it", async (_, network: Network, karstSec) => {
    const rollup = rollupConfigOf(network);
    const keeps = network.keepKarstUpgradeGas === true;
    expect(await gasLimitAfter(rollup, karstSec)).toBe(keeps ? GAS_LIMIT + UPGRADE_GAS : GAS_LIMIT);
    expect(await gasLimitAfter({ ...rollup, keepKarstUpgradeGas: !keeps }, karstSec)).toBe(
      keeps ? GAS_LIMIT : GAS_LIMIT + UPGRADE_GAS,
    );
  });

  it("differs between OP Mainnet and Zora", () => {
    const keeping = crossing.filter(([, { keepKarstUpgradeGas }]) => keepKarstUpgradeGas).map(([name]) => name);
    const removing = crossing.map(([name]) => name).filter((name) => !keeping.includes(name));
    expect(keeping).toContain("op-mainnet");
    expect(removing).toContain("zora-mainnet");
    expect([keeping.length, removing.length]).toEqual([11, 8]);
  });
});
