import { describe, expect, it } from "vitest";
import type { EvmFork } from "../forks/evm-forks.ts";
import type { OpFork } from "../forks/op-forks.ts";
import { forkRules } from "../forks/rules.ts";
import { blobParamsAt, blockRules } from "../rules/block-rules.ts";
import { genesisForkTimesToJson, parseChainConfig } from "./chain-config-json.ts";
import { oldForkKeysIn } from "./fork-keys.ts";
import { parseGenesisHead } from "./genesis.ts";
import { L1_CHAINS } from "./l1-chains.ts";

const optimism = { eip1559Elasticity: 6, eip1559Denominator: 50, eip1559DenominatorCanyon: 250 };
const rollup = {
  chainId: 901,
  homesteadBlock: 0,
  londonBlock: 0,
  mergeNetsplitBlock: 0,
  terminalTotalDifficulty: 0,
  terminalTotalDifficultyPassed: true,
  bedrockBlock: 0,
  regolithTime: 0,
  canyonTime: 10,
  shanghaiTime: 10,
  ecotoneTime: 20,
  cancunTime: 20,
  fjordTime: 25,
  graniteTime: 25,
  holoceneTime: 25,
  isthmusTime: 30,
  pragueTime: 30,
  jovianTime: 40,
  optimism,
};
const ethereum = {
  chainId: 1,
  homesteadBlock: 10,
  eip150Block: 20,
  eip155Block: 30,
  eip158Block: 30,
  byzantiumBlock: 40,
  londonBlock: 50,
  terminalTotalDifficulty: 100,
  shanghaiTime: 1000,
  cancunTime: 2000,
  pragueTime: 3000,
  daoForkBlock: 15,
  daoForkSupport: true,
};

describe("blockRules", () => {
  it.each<[number, OpFork, EvmFork]>([
    [0, "regolith", "paris"],
    [9, "regolith", "paris"],
    [10, "canyon", "shanghai"],
    [20, "ecotone", "cancun"],
    [25, "holocene", "cancun"],
    [30, "isthmus", "prague"],
    [40, "jovian", "prague"],
  ])("of a rollup at time %i", (timestamp, op, evm) => {
    expect(blockRules(parseChainConfig(rollup), { number: 1, timestamp })).toEqual({
      ...forkRules(evm, op),
      chainId: 901n,
      blobParams: undefined,
      isDaoForkBlock: false,
      acceptsContractSenders: false,
    });
  });

  it.each<[number, number, boolean | undefined, EvmFork]>([
    [9, 0, undefined, "frontier"],
    [10, 0, undefined, "homestead"],
    [45, 0, undefined, "byzantium"],
    [50, 999, undefined, "london"],
    [50, 999, true, "paris"],
    [51, 1000, undefined, "shanghai"],
    [51, 5000, false, "london"],
    [51, 2000, true, "cancun"],
    [51, 3000, true, "prague"],
  ])("of an Ethereum chain at block %i, time %i, after the merge %s", (number, timestamp, isPostMerge, evm) => {
    const rules = blockRules(parseChainConfig(ethereum), { number, timestamp, isPostMerge });
    expect(rules).toMatchObject({
      evm,
      op: undefined,
      isPostMerge: ["paris", "shanghai", "cancun", "prague"].includes(evm),
    });
  });

  it("knows the DAO fork's block", () => {
    const config = parseChainConfig(ethereum);
    expect([14, 15, 16].map((number) => blockRules(config, { number, timestamp: 0 }).isDaoForkBlock)).toEqual([false, true, false]);
    expect(blockRules({ ...config, daoForkSupport: false }, { number: 15, timestamp: 0 }).isDaoForkBlock).toBe(false);
  });

  it.each<[number, EvmFork]>([
    [1_149_999, "frontier"],
    [1_150_000, "homestead"],
    [7_280_000, "petersburg"],
    [15_537_393, "london"],
    [15_537_394, "paris"],
  ])("of Mainnet's block %i", (number, evm) => {
    expect(blockRules(L1_CHAINS.mainnet, { number, timestamp: 1_600_000_000 }).evm).toBe(evm);
  });

  it("takes blob limits by time", () => {
    expect(blobParamsAt(L1_CHAINS.mainnet, 1_710_338_134)).toBeUndefined();
    expect(
      [1_710_338_135, 1_746_612_311, 1_765_290_071, 1_767_747_671].map((time) => blobParamsAt(L1_CHAINS.mainnet, time)?.max),
    ).toEqual([6, 9, 15, 21]);
    expect(blockRules(L1_CHAINS.sepolia, { number: 9_000_000, timestamp: 1_761_017_184 }).blobParams?.target).toBe(10);
  });
});

describe("parseChainConfig", () => {
  it("takes a blob schedule, and the known one where it is missing", () => {
    const blobSchedule = { cancun: { target: 1, max: 2, baseFeeUpdateFraction: 3 } };
    const params = parseChainConfig({ ...ethereum, blobSchedule }).blobSchedule.map((entry) => entry.params);
    expect(params).toEqual([
      { target: 1, max: 2, baseFeeUpdateFraction: 3n },
      { target: 6, max: 9, baseFeeUpdateFraction: 5_007_716n },
    ]);
  });

  it("lets a fork without an entry that changes no limits inherit those in force", () => {
    const entry = (target: number) => ({ target, max: 2 * target, baseFeeUpdateFraction: 100 });
    const times = { ...ethereum, cancunTime: 7000, pragueTime: 8000, osakaTime: 9000, bpo1Time: 9100 };
    const inherited = { cancun: entry(1), prague: entry(2), bpo1: entry(4) };
    const targetsOf = (blobSchedule: object): [number, number][] =>
      parseChainConfig({ ...times, blobSchedule }).blobSchedule.map(({ timeSec, params }) => [timeSec, params.target]);
    expect(targetsOf(inherited).filter(([time]) => time >= 8000)).toEqual([
      [8000, 2],
      [9100, 4],
    ]);
    expect(targetsOf({ ...inherited, osaka: entry(3) }).filter(([time]) => time >= 8000)).toEqual([
      [8000, 2],
      [9000, 3],
      [9100, 4],
    ]);
  });

  it("takes numbers as hex and text", () => {
    const config = parseChainConfig({ ...ethereum, chainId: "0x385", terminalTotalDifficulty: "58750000000000000000000" });
    expect(config).toMatchObject({ chainId: 901n, terminalTotalDifficulty: 58_750_000_000_000_000_000_000n });
  });

  it.each<[string, unknown, string]>([
    ["no object", [], "config: expected an object"],
    ["no chain id", { ...rollup, chainId: null }, "config.chainId: expected "],
    ["a bad block", { ...ethereum, londonBlock: -1 }, "config.londonBlock: expected "],
    ["Ethereum forks out of order", { ...ethereum, byzantiumBlock: 29 }, "config.byzantiumBlock: expected "],
    ["rollup forks out of order", { ...rollup, jovianTime: 29 }, "config.jovianTime: expected "],
    ["a gap in rollup forks", { ...rollup, graniteTime: undefined }, "config.holoceneTime: expected not set, because graniteTime"],
    ["an unknown rollup fork", { ...rollup, cel2Time: 0 }, "config.cel2Time: expected a fork that this version knows"],
    ["an unknown rollup fork as text", { ...rollup, glamourTime: "0x10" }, "config.glamourTime: expected a fork that"],
    ["a rollup fork in text that is none", { ...rollup, jovianTime: "soon" }, "config.jovianTime: expected an integer"],
    ["a negative rollup fork", { ...rollup, jovianTime: -1 }, "config.jovianTime: expected an integer"],
    ["times that must coincide and do not", { ...rollup, cancunTime: 21 }, "config.cancunTime: expected "],
    ["an Ethereum fork without its rollup fork", { ...rollup, osakaTime: 50 }, "config.osakaTime: expected "],
    ["no elasticity", { ...rollup, optimism: { eip1559Denominator: 50 } }, "config.optimism.eip1559Elasticity: expected "],
    [
      "a denominator of 0",
      { ...rollup, optimism: { ...optimism, eip1559Denominator: 0 } },
      "config.optimism.eip1559Denominator: expected ",
    ],
    ["a fork without blob limits", { ...ethereum, bpo3Time: 9000 }, "config.blobSchedule.bpo3: expected "],
  ])("refuses %s", (_, json, message) => {
    expect(() => parseChainConfig(json)).toThrow(message);
  });

  const WRONG_TIMES = [
    -5,
    -1,
    0.5,
    1.5,
    1e300,
    2 ** 60,
    Number.NaN,
    "-5",
    "0x-5",
    "1.5",
    "",
    "soon",
    true,
    [],
    {},
    `0x1${"0".repeat(16)}`,
  ];
  const TIMES = [
    "regolithTime",
    "canyonTime",
    "deltaTime",
    "ecotoneTime",
    "fjordTime",
    "graniteTime",
    "holoceneTime",
    "isthmusTime",
  ];
  const MORE_TIMES = [
    "jovianTime",
    "karstTime",
    "interopTime",
    "lagoonTime",
    "shanghaiTime",
    "cancunTime",
    "pragueTime",
    "osakaTime",
  ];
  const OTHERS = [
    "bpo1Time",
    "amsterdamTime",
    "bedrockBlock",
    "londonBlock",
    "mergeNetsplitBlock",
    "daoForkBlock",
    "grayGlacierBlock",
  ];
  it.each([...TIMES, ...MORE_TIMES, ...OTHERS])("refuses a %s that is no time or block, on a rollup and on an L1", (key) => {
    for (const value of WRONG_TIMES) {
      for (const chain of [rollup, { chainId: 5 }]) {
        const refused = expect.objectContaining({ code: "json/invalid", data: expect.objectContaining({ key: `config.${key}` }) });
        let thrown: unknown;
        try {
          parseChainConfig({ ...chain, [key]: value });
        } catch (error) {
          thrown = error;
        }
        expect(thrown, JSON.stringify(value)).toEqual(refused);
      }
    }
  });

  it("takes the largest uint64 for never, in every form that keeps it exact", () => {
    for (const never of [`0x${"f".repeat(16)}`, "18446744073709551615"])
      expect(parseChainConfig({ ...rollup, deltaTime: never, osakaTime: undefined, interopTime: null })).toBeDefined();
  });

  it("takes other keys, forks that are not set, and forks of an L1 that it does not know", () => {
    const more = { cel2Time: null, deltaTime: 15, bpo1Time: 7, interopBlock: 5, lifetime: 5 };
    expect(parseChainConfig({ ...rollup, ...more })).toEqual(parseChainConfig(rollup));
    expect(parseChainConfig({ ...ethereum, bogotaTime: 9000 })).toEqual(parseChainConfig(ethereum));
  });

  it("reads the old key of a fork's time, and writes the new one", () => {
    const forkTimesOf = (more: object) => parseChainConfig({ ...rollup, karstTime: 50, ...more }).optimism?.forkTimes;
    expect(forkTimesOf({ lagoonTime: 60 })).toEqual(forkTimesOf({ interopTime: "0x3c" }));
    expect(forkTimesOf({ lagoonTime: 60 })?.lagoon).toBe(60);
    expect(forkTimesOf({ lagoonTime: "60", interopTime: "0x3c" })?.lagoon).toBe(60);
    expect(genesisForkTimesToJson({ lagoon: 60 })).toEqual({ lagoonTime: 60 });
    for (const key of ["lagoonTime", "interopTime"]) {
      expect(() => forkTimesOf({ [key]: 49 })).toThrow(/expected at least karstTime \(50\)/);
    }
    expect(() => forkTimesOf({ lagoonTime: 60, interopTime: 61 })).toThrow(
      /^config\.interopTime: expected the time of lagoonTime \(60\).*, got 61/,
    );
    expect(oldForkKeysIn({ ...rollup, karstTime: 50, interopTime: 60 })).toEqual([{ key: "interopTime", use: "lagoonTime" }]);
  });

  it("refuses two rollup forks in one block after genesis, from Jovian on", () => {
    const genesis = (timestamp: number) => ({ gasLimit: 1, timestamp, config: { ...rollup, jovianTime: 30 } });
    expect(() => parseGenesisHead(genesis(29))).toThrow(/^config\.jovianTime: expected later than isthmusTime \(30\)/);
    expect(parseGenesisHead(genesis(30)).config?.optimism?.forkTimes.jovian).toBe(30);
  });
});
