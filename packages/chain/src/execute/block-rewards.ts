import type { BlockExecution } from "@rnode/evm";
import { type BlockRules, type Header, isEvmForkAtLeast } from "@rnode/protocol";
import type { UnsealedHeader } from "./block-run.ts";

const ETHER = 10n ** 18n;

/** Reward of a proof-of-work block: 5, 3 (Byzantium), 2 (Constantinople) ether. Spec: EIP-649, EIP-1234 */
function blockReward(rules: BlockRules): bigint {
  if (isEvmForkAtLeast(rules.evm, "constantinople")) return 2n * ETHER;
  return isEvmForkAtLeast(rules.evm, "byzantium") ? 3n * ETHER : 5n * ETHER;
}

/** Pays the miner, 1/32 more for each ommer, and each ommer's miner (8 − distance)/8. Spec: yellow paper §11.3 */
export function payBlockRewards(
  execution: BlockExecution,
  rules: BlockRules,
  header: UnsealedHeader,
  ommers: readonly Header[],
): void {
  const reward = blockReward(rules);
  let minerReward = reward;
  for (const ommer of ommers) {
    execution.addBalance(ommer.beneficiary, (BigInt(ommer.number + 8 - header.number) * reward) / 8n);
    minerReward += reward / 32n;
  }
  execution.addBalance(header.beneficiary, minerReward);
}
