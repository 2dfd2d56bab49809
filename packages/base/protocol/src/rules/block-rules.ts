import type { BlockRules, ChainConfig } from "../chains/chain-config.ts";
import { EVM_FORKS, type EvmFork } from "../forks/evm-forks.ts";
import { rollupRulesAt } from "../forks/fork-times.ts";
import { type ForkRules, forkRules } from "../forks/rules.ts";
import type { BlobParams } from "../params/blob-params.ts";

/**
 * A block's position, which determines its rules. A number or timestamp above 2^53 − 1 may be rounded. Activations are below 2^53
 * (`jsonFlexibleNumber` reads them) and rounding keeps the order, so comparisons with activations are exact.
 */
export interface BlockPosition {
  readonly number: number;
  /** seconds */
  readonly timestamp: number;
  /**
   * Whether the block is proof of stake, if its header shows it. Otherwise the configuration decides: by a terminal total
   * difficulty of 0, the merge's block number, or a fork after the merge.
   */
  readonly isPostMerge?: boolean | undefined;
}

/** The rules of one block. */
export function blockRules(config: ChainConfig, position: BlockPosition): BlockRules {
  const { number, timestamp } = position;
  const { optimism } = config;
  if (optimism !== undefined) {
    // A rollup has no blob transactions: its blob base fee is 1 and its excess 0, regardless of L1's schedule.
    return rulesWith(config, rollupRulesAt(optimism.forkTimes, timestamp), undefined, false);
  }
  const rules = forkRules(activeEvmFork(config, position));
  const blobParams = rules.acceptsBlobs ? blobParamsAt(config, timestamp) : undefined;
  return rulesWith(config, rules, blobParams, config.daoForkSupport === true && number === config.daoForkBlock);
}

/**
 * PERF: a chain has only a few sets of rules. A copy of all rules for every block would take longer than the block's own checks.
 */
const known = new WeakMap<ChainConfig, BlockRules[]>();

function rulesWith(config: ChainConfig, rules: ForkRules, blobParams: BlobParams | undefined, isDaoForkBlock: boolean): BlockRules {
  let ofChain = known.get(config);
  if (ofChain === undefined) known.set(config, (ofChain = []));
  let found = ofChain.find(
    (each) =>
      each.chainId === config.chainId &&
      each.op === rules.op &&
      each.evm === rules.evm &&
      each.blobParams === blobParams &&
      each.isDaoForkBlock === isDaoForkBlock,
  );
  if (found === undefined) {
    const acceptsContractSenders = config.acceptsContractSenders === true;
    ofChain.push((found = { ...rules, chainId: config.chainId, blobParams, isDaoForkBlock, acceptsContractSenders }));
  }
  return found;
}

const MERGE_INDEX = EVM_FORKS.findIndex((fork) => forkRules(fork).isPostMerge);
const MERGE = EVM_FORKS[MERGE_INDEX]!;

function activeEvmFork(config: ChainConfig, position: BlockPosition): EvmFork {
  const { number, timestamp } = position;
  if (position.isPostMerge ?? isPostMergeByConfig(config, number, timestamp)) {
    for (let i = EVM_FORKS.length - 1; i > MERGE_INDEX; i--) {
      const time = config.evmForkTimes[EVM_FORKS[i]!];
      if (time !== undefined && timestamp >= time) return EVM_FORKS[i]!;
    }
    return MERGE;
  }
  for (let i = MERGE_INDEX - 1; i > 0; i--) {
    const activation = config.forkBlocks[EVM_FORKS[i]!];
    if (activation !== undefined && number >= activation) return EVM_FORKS[i]!;
  }
  return EVM_FORKS[0];
}

function isPostMergeByConfig(config: ChainConfig, number: number, timestamp: number): boolean {
  if (config.terminalTotalDifficulty === undefined) return false;
  if (config.terminalTotalDifficulty === 0n) return true;
  const mergeBlock = config.forkBlocks[MERGE];
  if (mergeBlock !== undefined) return number >= mergeBlock;
  return Object.values(config.evmForkTimes).some((time) => timestamp >= time);
}

/** Blob limits at a time; `undefined` before Cancun. */
export function blobParamsAt(config: ChainConfig, timestampSec: number): BlobParams | undefined {
  let params: BlobParams | undefined;
  for (const entry of config.blobSchedule) {
    if (timestampSec < entry.timeSec) break;
    params = entry.params;
  }
  return params;
}
