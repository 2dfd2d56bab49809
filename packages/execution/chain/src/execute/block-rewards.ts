import type { BlockExecution } from "@rnode/evm";
import { type BlockRules, exactNumber, type Header } from "@rnode/protocol";

/** Pays the miner, with 1/32 more for each ommer, and pays each ommer's miner (8 − distance)/8. Spec: yellow paper §11.3 */
export function payBlockRewards(
  execution: BlockExecution,
  rules: BlockRules,
  header: Pick<Header, "number" | "exact" | "beneficiary">,
  ommers: readonly Header[],
): void {
  const reward = rules.blockRewardWei;
  let minerReward = reward;
  for (const ommer of ommers) {
    execution.addBalance(ommer.beneficiary, ((BigInt(exactNumber(ommer)) + 8n - BigInt(exactNumber(header))) * reward) / 8n);
    minerReward += reward / 32n;
  }
  execution.addBalance(header.beneficiary, minerReward);
}
