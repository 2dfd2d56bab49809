import type { BlobParams, BlockRules, ChainConfig } from "./chain-config.ts";
import { activeOpFork, EVM_FORK_OF_OP_FORK, EVM_FORKS, type EvmFork, isEvmForkAtLeast } from "./forks.ts";

export interface BlockPosition {
  readonly number: number;
  /** seconds */
  readonly timestamp: number;
  /**
   * Whether the block is proof of stake, where its header says so. Without it the configuration decides: a terminal total
   * difficulty of 0, the merge's block number, or a fork that comes after the merge.
   */
  readonly isPostMerge?: boolean | undefined;
}

/** The rules of one block. */
export function blockRules(config: ChainConfig, position: BlockPosition): BlockRules {
  const { number, timestamp } = position;
  const { optimism } = config;
  if (optimism !== undefined) {
    const op = activeOpFork(optimism.forkTimes, timestamp);
    return {
      chainId: config.chainId,
      evm: EVM_FORK_OF_OP_FORK[op],
      op,
      isPostMerge: true,
      blobParams: undefined, // no blob transactions: the blob base fee is 1 and the excess 0, whatever the L1's schedule
      isDaoForkBlock: false,
    };
  }
  const evm = activeEvmFork(config, position);
  return {
    chainId: config.chainId,
    evm,
    op: undefined,
    isPostMerge: isEvmForkAtLeast(evm, "paris"),
    blobParams: isEvmForkAtLeast(evm, "cancun") ? blobParamsAt(config, timestamp) : undefined,
    isDaoForkBlock: config.daoForkSupport === true && number === config.daoForkBlock,
  };
}

const PARIS_INDEX = EVM_FORKS.indexOf("paris");

function activeEvmFork(config: ChainConfig, position: BlockPosition): EvmFork {
  const { number, timestamp } = position;
  if (position.isPostMerge ?? isPostMergeByConfig(config, number, timestamp)) {
    for (let i = EVM_FORKS.length - 1; i > PARIS_INDEX; i--) {
      const time = config.evmForkTimes[EVM_FORKS[i]!];
      if (time !== undefined && timestamp >= time) return EVM_FORKS[i]!;
    }
    return "paris";
  }
  for (let i = PARIS_INDEX - 1; i > 0; i--) {
    const activation = config.forkBlocks[EVM_FORKS[i]!];
    if (activation !== undefined && number >= activation) return EVM_FORKS[i]!;
  }
  return "frontier";
}

function isPostMergeByConfig(config: ChainConfig, number: number, timestamp: number): boolean {
  if (config.terminalTotalDifficulty === undefined) return false;
  if (config.terminalTotalDifficulty === 0n) return true;
  const { paris } = config.forkBlocks;
  if (paris !== undefined) return number >= paris;
  return Object.values(config.evmForkTimes).some((time) => timestamp >= time);
}

/** Blob limits in force at a time; undefined before Cancun. */
export function blobParamsAt(config: ChainConfig, timestampSec: number): BlobParams | undefined {
  let params: BlobParams | undefined;
  for (const entry of config.blobSchedule) {
    if (timestampSec < entry.timeSec) break;
    params = entry.params;
  }
  return params;
}
