import { bytesToHex, type Hex, toQuantity } from "@rnode/primitives";
import {
  BLOB_SCHEDULE_FORKS,
  type BlobScheduleFork,
  EVM_FORKS,
  type EvmFork,
  evmForkFacts,
  knownBlobParams,
} from "@rnode/protocol";
import { GENESIS_CONTRACTS } from "./system-contracts.ts";

/** The forks that a development chain can start with, all from its genesis on: those with blobs, whose limits are known. */
export const DEV_FORKS: readonly BlobScheduleFork[] = BLOB_SCHEDULE_FORKS.filter((fork) => knownBlobParams(fork) !== undefined);
/** The newest fork with its own EVM rules. */
export const DEFAULT_DEV_FORK: BlobScheduleFork = EVM_FORKS.at(-1)!;

export interface DevGenesisOptions {
  readonly chainId: number;
  readonly fork: BlobScheduleFork;
  readonly gasLimit: bigint;
  /** of block 0, wei */
  readonly baseFeePerGas: bigint;
  readonly timestampSec: number;
  /** who has `balanceWei`, 20 bytes each */
  readonly accounts: readonly Uint8Array[];
  readonly balanceWei: bigint;
}

/** The genesis file of a development chain, in Geth's form: Ethereum's rules, with funded accounts and the contracts that these need. */
export function devGenesis(options: DevGenesisOptions): object {
  const { accounts, balanceWei } = options;
  const contracts = GENESIS_CONTRACTS.map(({ address, code }) => [address, { balance: "0x0", nonce: "0x1", code }] as const);
  const funded = accounts.map((address) => [bytesToHex(address), { balance: toQuantity(balanceWei) }] as const);
  return {
    config: devChainConfig(options),
    timestamp: toQuantity(options.timestampSec),
    gasLimit: toQuantity(options.gasLimit),
    baseFeePerGas: toQuantity(options.baseFeePerGas),
    difficulty: "0x0",
    extraData: "0x",
    alloc: Object.fromEntries<{ readonly balance: Hex }>([...contracts, ...funded]),
  };
}

/** The `config` of a chain on which the fork and all before it are active from the genesis on. */
export function devChainConfig({ chainId, fork }: Pick<DevGenesisOptions, "chainId" | "fork">): object {
  const withBlobs = BLOB_SCHEDULE_FORKS.slice(0, BLOB_SCHEDULE_FORKS.indexOf(fork) + 1);
  const schedule = withBlobs.flatMap((each) => {
    const params = knownBlobParams(each);
    return params === undefined
      ? []
      : [[each, { ...params, baseFeeUpdateFraction: Number(params.baseFeeUpdateFraction) }] as const];
  });
  const isWithoutBlobs = (each: EvmFork): boolean => !(BLOB_SCHEDULE_FORKS as readonly string[]).includes(each);
  const keys = EVM_FORKS.filter(isWithoutBlobs).flatMap((each) => activationKeys(each));
  return {
    chainId,
    ...Object.fromEntries([...keys, ...withBlobs.map((each) => `${each}Time`)].map((key) => [key, 0])),
    terminalTotalDifficulty: 0,
    terminalTotalDifficultyPassed: true,
    blobSchedule: Object.fromEntries(schedule),
  };
}

function activationKeys(fork: EvmFork): readonly string[] {
  const { activation } = evmForkFacts(fork);
  if (activation === undefined) return [];
  return "block" in activation ? [activation.block, ...(activation.alsoWritten ?? [])] : [activation.time];
}
