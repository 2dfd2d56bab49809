import { parseChainConfig } from "@rnode/protocol";
import { describe, expect, it } from "vitest";
import { JOVIAN_CONFIG } from "../testing/blocks.ts";
import { chainConfigToJson } from "./chain-config-json.ts";

const ETHEREUM = {
  chainId: 1,
  homesteadBlock: 1_150_000,
  daoForkBlock: 1_920_000,
  daoForkSupport: true,
  eip150Block: 2_463_000,
  eip155Block: 2_675_000,
  eip158Block: 2_675_000,
  byzantiumBlock: 4_370_000,
  constantinopleBlock: 7_280_000,
  petersburgBlock: 7_280_000,
  istanbulBlock: 9_069_000,
  muirGlacierBlock: 9_200_000,
  berlinBlock: 12_244_000,
  londonBlock: 12_965_000,
  arrowGlacierBlock: 13_773_000,
  grayGlacierBlock: 15_050_000,
  terminalTotalDifficulty: "58750000000000000000000",
  shanghaiTime: 1_681_338_455,
  cancunTime: 1_710_338_135,
  pragueTime: 1_746_612_311,
  osakaTime: 1_764_798_551,
  bpo1Time: 1_765_290_071,
  bpo2Time: 1_767_747_671,
  depositContractAddress: "0x00000000219ab540356cbb839cbe05303d7705fa",
  blobSchedule: {
    cancun: { target: 3, max: 6, baseFeeUpdateFraction: 3_338_477 },
    prague: { target: 6, max: 9, baseFeeUpdateFraction: 5_007_716 },
    osaka: { target: 6, max: 9, baseFeeUpdateFraction: 5_007_716 },
    bpo1: { target: 10, max: 15, baseFeeUpdateFraction: 8_346_193 },
    bpo2: { target: 14, max: 21, baseFeeUpdateFraction: 11_684_671 },
  },
};

describe("chainConfigToJson", () => {
  it("writes an Ethereum chain's as it was read", () => {
    expect(chainConfigToJson(parseChainConfig(ETHEREUM))).toEqual(ETHEREUM);
  });

  it("writes an OP Stack chain's so that it reads the same", () => {
    const config = parseChainConfig(JOVIAN_CONFIG);
    const json = chainConfigToJson(config);
    expect(json).toMatchObject({ chainId: 901, jovianTime: 0, optimism: JOVIAN_CONFIG.optimism });
    expect(parseChainConfig(json)).toEqual(config);
  });
});
