import { hexToBytes } from "@rnode/primitives";
import type { Header } from "../blocks/block.ts";
import { EVM_FORKS, type EvmFork, evmForkFacts } from "../forks/evm-forks.ts";
import { forkRules } from "../forks/rules.ts";
import { BLOB_SCHEDULE_FORKS, type BlobScheduleFork, knownBlobParams } from "./blob-schedule.ts";
import type { ChainConfig } from "./chain-config.ts";

type L1Times = Readonly<Partial<Record<BlobScheduleFork, number>>>;

function forksByTime(times: L1Times): Pick<ChainConfig, "evmForkTimes" | "blobSchedule"> {
  const scheduled = <Fork extends BlobScheduleFork>(forks: readonly Fork[]): [Fork, number][] =>
    forks.flatMap((fork) => (times[fork] === undefined ? [] : [[fork, times[fork]]]));
  return {
    evmForkTimes: Object.fromEntries(scheduled(EVM_FORKS)),
    blobSchedule: scheduled(BLOB_SCHEDULE_FORKS).map(([fork, timeSec]) => ({ timeSec, params: knownBlobParams(fork)! })),
  };
}

/** All proof-of-work forks, active from block 0 on. */
export const ALL_FORKS_AT_GENESIS: ChainConfig["forkBlocks"] = Object.fromEntries(
  EVM_FORKS.slice(1)
    .filter((fork) => !forkRules(fork).isPostMerge)
    .map((fork): [EvmFork, number] => [fork, 0]),
);

const mainnet: ChainConfig = {
  chainId: 1n,
  forkBlocks: {
    homestead: 1_150_000,
    tangerineWhistle: 2_463_000,
    spuriousDragon: 2_675_000,
    byzantium: 4_370_000,
    constantinople: 7_280_000,
    petersburg: 7_280_000,
    istanbul: 9_069_000,
    berlin: 12_244_000,
    london: 12_965_000,
    paris: 15_537_394,
  },
  daoForkBlock: 1_920_000,
  daoForkSupport: true,
  difficultyBombBlocks: { muirGlacier: 9_200_000, arrowGlacier: 13_773_000, grayGlacier: 15_050_000 },
  terminalTotalDifficulty: 58_750_000_000_000_000_000_000n,
  depositContractAddress: hexToBytes("0x00000000219ab540356cbb839cbe05303d7705fa"),
  ...forksByTime({
    shanghai: 1_681_338_455,
    cancun: 1_710_338_135,
    prague: 1_746_612_311,
    osaka: 1_764_798_551,
    bpo1: 1_765_290_071,
    bpo2: 1_767_747_671,
  }),
};

const sepolia: ChainConfig = {
  chainId: 11_155_111n,
  forkBlocks: { ...ALL_FORKS_AT_GENESIS, paris: 1_735_371 },
  difficultyBombBlocks: { muirGlacier: 0 },
  terminalTotalDifficulty: 17_000_000_000_000_000n,
  depositContractAddress: hexToBytes("0x7f02c3e3c98b133055b8b348b2ac625669ed295d"),
  ...forksByTime({
    shanghai: 1_677_557_088,
    cancun: 1_706_655_072,
    prague: 1_741_159_776,
    osaka: 1_760_427_360,
    bpo1: 1_761_017_184,
    bpo2: 1_761_607_008,
  }),
};

const holesky: ChainConfig = {
  chainId: 17_000n,
  forkBlocks: ALL_FORKS_AT_GENESIS,
  terminalTotalDifficulty: 0n,
  depositContractAddress: hexToBytes("0x4242424242424242424242424242424242424242"),
  ...forksByTime({
    shanghai: 1_696_000_704,
    cancun: 1_707_305_664,
    prague: 1_740_434_112,
    osaka: 1_759_308_480,
    bpo1: 1_759_800_000,
    bpo2: 1_760_389_824,
  }),
};

const hoodi: ChainConfig = {
  chainId: 560_048n,
  forkBlocks: ALL_FORKS_AT_GENESIS,
  terminalTotalDifficulty: 0n,
  depositContractAddress: hexToBytes("0x00000000219ab540356cbb839cbe05303d7705fa"),
  ...forksByTime({
    shanghai: 0,
    cancun: 0,
    prague: 1_742_999_832,
    osaka: 1_761_677_592,
    bpo1: 1_762_365_720,
    bpo2: 1_762_955_544,
  }),
};

/** Ethereum's public networks, which can be the L1 without further configuration. */
export const L1_CHAINS = { mainnet, sepolia, holesky, hoodi } as const satisfies Record<string, ChainConfig>;
export type L1ChainName = keyof typeof L1_CHAINS;

/** The configuration of a public L1; undefined for any other chain. */
export function l1ChainConfig(chainId: bigint): ChainConfig | undefined {
  return Object.values(L1_CHAINS).find((config) => config.chainId === chainId);
}

/** The newest rules without blobs that a proof-of-stake block of this form can have; `undefined`: the block has blobs. */
export function chainConfigBeforeBlobs(chainId: bigint, header: Header): ChainConfig | undefined {
  if (header.excessBlobGas !== undefined) return undefined;
  const forks = EVM_FORKS.filter((fork) => {
    const { hasWithdrawals, hasBlobGas } = forkRules(fork);
    const isTimed = "time" in (evmForkFacts(fork).activation ?? {});
    return isTimed && !hasBlobGas && (!hasWithdrawals || header.withdrawalsRoot !== undefined);
  });
  return {
    chainId,
    forkBlocks: ALL_FORKS_AT_GENESIS,
    terminalTotalDifficulty: 0n,
    blobSchedule: [],
    evmForkTimes: Object.fromEntries(forks.map((fork) => [fork, 0])),
  };
}
