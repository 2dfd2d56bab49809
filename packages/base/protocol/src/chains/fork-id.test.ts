import { bytesToHex, hexToBytes } from "@rnode/primitives";
import { describe, expect, it } from "vitest";
import { ForkIds, networkGenesisHash } from "./fork-id.ts";
import { chainConfigOfNetwork, networkByName } from "./networks.ts";

const MAINNET_GENESIS = hexToBytes("0xd4e56740f876aef8c010b86a40d5f56745a118d0906a34e69aec8c0db1cb8fa3");

function opMainnet(): {
  ids: ForkIds;
  times: Readonly<Record<string, number | undefined>>;
  bedrock: { number: number; timestamp: number };
} {
  const network = networkByName("op-mainnet")!;
  const config = chainConfigOfNetwork("op-mainnet");
  const { number, hash } = network.genesis.l2;
  const bedrock = { number, timestamp: network.genesis.l2TimeSec };
  const ids = new ForkIds(config, networkGenesisHash(config, hexToBytes(hash)), bedrock.timestamp);
  return { ids, times: network.forkTimes, bedrock };
}

describe("fork id", () => {
  it("is OP Mainnet's, as its clients compute it", () => {
    const { ids, times, bedrock } = opMainnet();
    expect(bytesToHex(ids.at({ number: 0, timestamp: 0 }).hash)).toBe("0xcaf517ed");
    expect(ids.at({ number: 0, timestamp: 0 }).next).toBe(3_950_000);
    const at = (timestamp: number): string => bytesToHex(ids.at({ number: bedrock.number + 1, timestamp }).hash);
    expect(at(bedrock.timestamp)).toBe("0xe3398d7c");
    const expected = [
      ["canyon", "0xbdd4fdb2"],
      ["ecotone", "0x19da4c52"],
      ["fjord", "0x49fbfe1e"],
      ["granite", "0x44704cde"],
      ["holocene", "0x2bd93dc8"],
      ["isthmus", "0x37be758f"],
      ["jovian", "0xd53e568f"],
      ["karst", "0xc29239af"],
    ] as const;
    for (const [fork, hash] of expected) if (times[fork] !== undefined) expect([fork, at(times[fork])]).toEqual([fork, hash]);
    expect(times.jovian).toBeDefined();
  });

  // EIP-2124's own table, and that of EIP-6122
  it.each([
    [0, 0, "0xfc64ec04", 1_150_000],
    [1_150_000, 0, "0x97c2c34c", 1_920_000],
    [1_920_000, 0, "0x91d1f948", 2_463_000],
    [7_279_999, 0, "0xa00bc324", 7_280_000],
    [7_280_000, 0, "0x668db0af", 9_069_000],
    [12_965_000, 0, "0xb715077d", 13_773_000],
    [15_050_000, 0, "0xf0afd0e3", 1_681_338_455],
    [20_000_000, 1_681_338_455, "0xdce96c2d", 1_710_338_135],
    [20_000_000, 1_710_338_135, "0x9f3d2254", 1_746_612_311],
    [30_000_000, 1_746_612_311, "0xc376cf8b", 1_764_798_551],
  ])("is Ethereum's at block %i, time %i", (number, timestamp, hash, next) => {
    const ids = new ForkIds(chainConfigOfNetwork("mainnet"), MAINNET_GENESIS, 0);
    const id = ids.at({ number, timestamp });
    expect([bytesToHex(id.hash), id.next]).toEqual([hash, next]);
  });

  // EIP-2124's validation rules, on Ethereum's chain
  it.each([
    ["the same, no next fork known", 7_987_396, "0x668db0af", 0, "compatible"],
    ["the same, a next fork that we do not know", 7_987_396, "0x668db0af", Number.MAX_SAFE_INTEGER, "compatible"],
    ["a peer that syncs", 7_987_396, "0xa00bc324", 7_280_000, "compatible"],
    ["a peer that syncs from further back", 7_987_396, "0x91d1f948", 2_463_000, "compatible"],
    ["we sync", 7_279_999, "0x668db0af", 0, "compatible"],
    ["a peer that does not know the fork that has passed", 7_987_396, "0xa00bc324", 0, "remote-stale"],
    ["a fork that passed without us", 7_987_396, "0x5cddc0e1", 0, "incompatible"],
    ["another chain", 7_987_396, "0xafec6b27", 0, "incompatible"],
    ["a fork that we have passed and not made", 88_888_888, "0x668db0af", 88_888_888, "incompatible"],
    ["a fork next of the same state that is passed", 7_279_999, "0xa00bc324", 7_279_999, "incompatible"],
  ] as const)("judges %s", (_, number, hash, next, verdict) => {
    const config = { ...chainConfigOfNetwork("mainnet"), evmForkTimes: {}, blobSchedule: [], difficultyBombBlocks: {} };
    const { istanbul: _i, berlin: _b, london: _l, ...forkBlocks } = config.forkBlocks;
    const ids = new ForkIds({ ...config, forkBlocks }, MAINNET_GENESIS, 0);
    expect(ids.check({ hash: hexToBytes(hash), next }, { number, timestamp: 0 })).toBe(verdict);
  });
});
