import { type BlockRules, blockRules, type ChainConfig, type Header } from "@rnode/protocol";

/**
 * The rules of a block, determined by its header. On a chain that merged at some difficulty, the header distinguishes proof of stake
 * from proof of work: difficulty 0 exists only after the merge. Spec: EIP-3675
 */
export function rulesOfBlock(config: ChainConfig, header: Pick<Header, "number" | "timestamp" | "difficulty">): BlockRules {
  const { number, timestamp } = header;
  const mergesByDifficulty = config.optimism === undefined && (config.terminalTotalDifficulty ?? 0n) > 0n;
  return blockRules(config, { number, timestamp, ...(mergesByDifficulty && { isPostMerge: header.difficulty === 0n }) });
}
