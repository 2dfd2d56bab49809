import { hexToBytes } from "@rnode/primitives";
import {
  ALL_FORKS_AT_GENESIS,
  BLOB_SCHEDULE_FORKS,
  type ChainConfig,
  EVM_FORKS,
  type EvmFork,
  forkRules,
  knownBlobParams,
} from "@rnode/protocol";

/** The names of forks in ethereum/tests. */
const FORKS: Readonly<Record<string, EvmFork>> = {
  Frontier: "frontier",
  Homestead: "homestead",
  EIP150: "tangerineWhistle",
  EIP158: "spuriousDragon",
  Byzantium: "byzantium",
  Constantinople: "constantinople",
  ConstantinopleFix: "petersburg",
  Istanbul: "istanbul",
  Berlin: "berlin",
  London: "london",
  Merge: "paris",
  Paris: "paris",
  Shanghai: "shanghai",
  Cancun: "cancun",
  Prague: "prague",
  Osaka: "osaka",
};

const MERGE = EVM_FORKS.findIndex((fork) => forkRules(fork).isPostMerge);
const FIRST_TIMED_FORK = MERGE + 1;
const MAINNET_DEPOSIT_CONTRACT = "0x00000000219ab540356cbb839cbe05303d7705fa";

/** The fork that a test names; undefined: one that we do not have. */
export function evmForkOfSuite(name: string): EvmFork | undefined {
  return Object.hasOwn(FORKS, name) ? FORKS[name] : undefined;
}

/**
 * Configuration of a chain on which the named fork is active from its genesis on, or at a certain time
 * (`ShanghaiToCancunAtTime15k`).
 */
export function chainConfigOfSuite(network: string): ChainConfig | undefined {
  const [, from, to, thousands] = /^(\w+?)To(\w+)AtTime(\d+)k$/.exec(network) ?? [];
  const first = evmForkOfSuite(from ?? network);
  const last = to === undefined ? first : evmForkOfSuite(to);
  if (first === undefined || last === undefined) return undefined;
  const firstIndex = EVM_FORKS.indexOf(first);
  const lastIndex = EVM_FORKS.indexOf(last);
  if (to !== undefined && lastIndex < FIRST_TIMED_FORK) return undefined;
  const forkBlocks: Partial<Record<EvmFork, number>> = {};
  for (const fork of EVM_FORKS.slice(1, Math.min(firstIndex, MERGE - 1) + 1)) forkBlocks[fork] = ALL_FORKS_AT_GENESIS[fork] ?? 0;
  const evmForkTimes: Partial<Record<EvmFork, number>> = {};
  for (let i = FIRST_TIMED_FORK; i <= lastIndex; i++) evmForkTimes[EVM_FORKS[i]!] = i <= firstIndex ? 0 : Number(thousands) * 1000;
  return {
    chainId: 1n,
    forkBlocks,
    evmForkTimes,
    ...(lastIndex >= MERGE && { terminalTotalDifficulty: 0n }),
    blobSchedule: BLOB_SCHEDULE_FORKS.flatMap((fork) => {
      const timeSec = evmForkTimes[fork as EvmFork];
      return timeSec === undefined ? [] : [{ timeSec, params: knownBlobParams(fork)! }];
    }),
    depositContractAddress: hexToBytes(MAINNET_DEPOSIT_CONTRACT),
  };
}
