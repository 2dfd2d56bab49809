import { hexToBytes } from "@rnode/primitives";
import {
  ALL_FORKS_AT_GENESIS,
  BLOB_SCHEDULE_FORKS,
  type BlobParams,
  type BlobScheduleFork,
  type ChainConfig,
  EVM_FORKS,
  type EvmFork,
  forkRules,
  knownBlobParams,
} from "@rnode/protocol";

/** The names of forks in ethereum/tests and execution-spec-tests. */
const FORKS: Readonly<Record<string, EvmFork>> = {
  Frontier: "frontier",
  Homestead: "homestead",
  EIP150: "tangerineWhistle",
  TangerineWhistle: "tangerineWhistle",
  EIP158: "spuriousDragon",
  SpuriousDragon: "spuriousDragon",
  Byzantium: "byzantium",
  Constantinople: "constantinople",
  ConstantinopleFix: "petersburg",
  Istanbul: "istanbul",
  MuirGlacier: "istanbul",
  Berlin: "berlin",
  London: "london",
  ArrowGlacier: "london",
  GrayGlacier: "london",
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

/** The fork of a test; `undefined`: not supported. */
export function evmForkOfSuite(name: string): EvmFork | undefined {
  return Object.hasOwn(FORKS, name) ? FORKS[name] : undefined;
}

/** `config` of a fixture of execution-spec-tests: numbers are hex, forks are named as in `network`. */
export interface SuiteConfig {
  readonly chainid?: string;
  readonly chainId?: string;
  readonly blobSchedule?: Readonly<Record<string, SuiteBlobParams>>;
}
interface SuiteBlobParams {
  readonly target: string | number;
  readonly max: string | number;
  readonly baseFeeUpdateFraction: string | number;
}

/** An Ethereum fork, and how many of the changes of blob parameters that follow it (EIP-7892) are active. */
interface SuiteEra {
  readonly evm: EvmFork;
  /** index in `BLOB_SCHEDULE_FORKS` of the newest entry; -1: before blobs */
  readonly blobs: number;
}

/** The era of a name: a fork, or `BPO1` … `BPO5`, which are Osaka with other blob parameters. */
function eraOf(name: string): SuiteEra | undefined {
  const evm = evmForkOfSuite(name) ?? (/^BPO\d+$/i.test(name) ? "osaka" : undefined);
  if (evm === undefined) return undefined;
  const entry = (evm === evmForkOfSuite(name) ? evm : name.toLowerCase()) as BlobScheduleFork;
  const blobs = BLOB_SCHEDULE_FORKS.indexOf(entry);
  return blobs === -1 && entry !== evm ? undefined : { evm, blobs };
}

function blobParamsOfSuite(fork: BlobScheduleFork, { blobSchedule = {} }: SuiteConfig): BlobParams | undefined {
  const given = Object.entries(blobSchedule).find(([name]) => name.toLowerCase() === fork)?.[1];
  const params = given && {
    target: Number(given.target),
    max: Number(given.max),
    baseFeeUpdateFraction: BigInt(given.baseFeeUpdateFraction),
  };
  return params ?? knownBlobParams(fork);
}

/** The blob parameters of a named era; undefined before blobs. @throws Error the fixture has none for it, and neither have we */
export function blobParamsAtEra(name: string, config: SuiteConfig = {}): BlobParams | undefined {
  const era = eraOf(name);
  if (era === undefined || era.blobs === -1) return undefined;
  const params = blobParamsOfSuite(BLOB_SCHEDULE_FORKS[era.blobs]!, config);
  if (params === undefined) throw new Error(`blobSchedule has no entry for ${name}`);
  return params;
}

/** The fork of an era's rules: that of its name, or Osaka for `BPO1` and later ones. */
export const evmForkOfEra = (name: string): EvmFork | undefined => eraOf(name)?.evm;

const TRANSITION = /^(\w+?)To(\w+)AtTime(\d+)k$/;

/** Whether we have the forks of a network: the parts of a transition, or the network itself. */
export function isKnownNetwork(network: string): boolean {
  const [, from, to] = TRANSITION.exec(network) ?? [];
  return to === undefined ? eraOf(network) !== undefined : eraOf(from!) !== undefined && eraOf(to) !== undefined;
}

/**
 * Configuration of a chain with the named fork active from its genesis, or at a certain time (`ShanghaiToCancunAtTime15k`,
 * `OsakaToBPO1AtTime15k`).
 *
 * @param given of the fixture, whose blob parameters replace the known ones
 * @returns `undefined`: an unsupported fork
 * @throws Error neither the fixture nor rnode has blob parameters for the fork
 */
export function chainConfigOfSuite(network: string, given: SuiteConfig = {}): ChainConfig | undefined {
  const [, from, to, thousands] = TRANSITION.exec(network) ?? [];
  const first = eraOf(from ?? network);
  const last = to === undefined ? first : eraOf(to);
  if (first === undefined || last === undefined) return undefined;
  for (const name of to === undefined ? [network] : [from!, to]) blobParamsAtEra(name, given);
  const timeSec = Number(thousands ?? 0) * 1000;
  const firstIndex = EVM_FORKS.indexOf(first.evm);
  const lastIndex = EVM_FORKS.indexOf(last.evm);
  if (to !== undefined && lastIndex < FIRST_TIMED_FORK) return undefined;
  const forkBlocks: Partial<Record<EvmFork, number>> = {};
  for (const fork of EVM_FORKS.slice(1, Math.min(firstIndex, MERGE - 1) + 1)) forkBlocks[fork] = ALL_FORKS_AT_GENESIS[fork] ?? 0;
  const evmForkTimes: Partial<Record<EvmFork, number>> = {};
  for (let i = FIRST_TIMED_FORK; i <= lastIndex; i++) evmForkTimes[EVM_FORKS[i]!] = i <= firstIndex ? 0 : timeSec;
  return {
    chainId: BigInt(given.chainid ?? given.chainId ?? 1),
    forkBlocks,
    evmForkTimes,
    ...(lastIndex >= MERGE && { terminalTotalDifficulty: 0n }),
    blobSchedule: BLOB_SCHEDULE_FORKS.slice(0, last.blobs + 1).flatMap((fork, index) => {
      const params = blobParamsOfSuite(fork, given);
      return params === undefined ? [] : [{ timeSec: index <= first.blobs ? 0 : timeSec, params }];
    }),
    depositContractAddress: hexToBytes(MAINNET_DEPOSIT_CONTRACT),
  };
}
