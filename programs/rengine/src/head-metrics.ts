import type { Chain, HeadChange } from "@rnode/chain";
import type { MetricFactory } from "@rnode/observe";

/** Metrics of the chain's heads. @returns counts a change of the head */
export function observeHeads(m: MetricFactory, chain: Pick<Chain, "headerOf">): (change: HeadChange) => void {
  const header = (tag: "latest" | "safe" | "finalized") => chain.headerOf({ kind: "tag", tag })?.header;
  m.gaugeOf("chain_head_block", "Number of the latest block.", () => header("latest")?.number ?? 0);
  m.gaugeOf("chain_head_safe", "Number of the safe block; 0: none is known.", () => header("safe")?.number ?? 0);
  m.gaugeOf("chain_head_finalized", "Number of the finalized block; 0: none is known.", () => header("finalized")?.number ?? 0);
  m.gaugeOf(
    "chain_head_timestamp_seconds",
    "Time of the latest block, in seconds since 1970.",
    () => header("latest")?.timestamp ?? 0,
  );
  m.gaugeOf("chain_head_gas_used", "Gas used by the latest block.", () => Number(header("latest")?.gasUsed ?? 0n));
  m.gaugeOf("chain_head_gas_limit", "Gas limit of the latest block.", () => Number(header("latest")?.gasLimit ?? 0n));
  m.gaugeOf("chain_head_base_fee_wei", "Base fee of the latest block, in wei.", () =>
    Number(header("latest")?.baseFeePerGas ?? 0n),
  );
  const blocks = m.counter("chain_blocks_total", "Blocks that joined the canonical chain.");
  const gas = m.counter("chain_gas_used_total", "Gas of the blocks that joined the canonical chain.");
  const transactions = m.counter("chain_transactions_total", "Transactions of these blocks, deposits included.");
  const reorganisations = m.counter(
    "chain_reorganisations_total",
    "Reorganisations: how many times blocks left the canonical chain.",
  );
  return ({ addedHashes, addedSums, removed }) => {
    blocks.add(addedHashes.length);
    gas.add(addedSums.gasUsed);
    transactions.add(addedSums.transactions);
    if (removed.length > 0) reorganisations.inc();
  };
}

/** The metric names in the dashboards of Geth and Reth, and in EIP-2159. */
const NAMES: Readonly<Record<string, readonly string[]>> = {
  chain_head_block: [
    ...["chain_head_block", "chain_head_header", "reth_blockchain_tree_canonical_chain_height"],
    ...["ethereum_blockchain_height", "ethereum_best_known_block_number"],
  ],
  chain_head_safe: ["chain_head_safe", "reth_blockchain_tree_safe_block_height"],
  chain_head_finalized: ["chain_head_finalized", "reth_blockchain_tree_finalized_block_height"],
  txpool_pending_transactions: ["txpool_pending", "reth_transaction_pool_pending_pool_transactions"],
  txpool_queued_transactions: ["txpool_queued", "reth_transaction_pool_queued_pool_transactions"],
};

export const gethAndRethNames = (name: string): readonly string[] => NAMES[name] ?? [];
