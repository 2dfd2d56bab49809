import type { MetricFactory } from "@rnode/observe";

const BUCKETS_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** Sizes in bytes of the chain's data in memory. */
export interface ChainMemory {
  readonly executed: () => number;
  readonly removed: () => number;
  readonly engines: () => number;
  readonly stateTrie: () => number;
}

export const createChainMetrics = (m: MetricFactory, memory: ChainMemory) => {
  m.gaugeOf("memory_executed_blocks_bytes", "Approximate size of executed blocks in memory.", memory.executed);
  m.gaugeOf(
    "memory_removed_blocks_bytes",
    "Approximate size of the blocks in memory that reorganisations removed from the chain.",
    memory.removed,
  );
  m.gaugeOf("memory_chain_engines_bytes", "Linear memory of the engines that execute and build blocks.", memory.engines);
  m.gaugeOf("memory_state_trie_bytes", "Approximate size of trie nodes kept in memory for the next blocks.", memory.stateTrie);
  return {
    execute: m.histogram<{ verdict: "valid" | "invalid" }>(
      "chain_execute_seconds",
      "Time to check and execute a payload.",
      BUCKETS_SECONDS,
      ["verdict"],
    ),
    started: m.counter(
      "chain_started_blocks_total",
      "Payloads whose first transactions had been executed already, because they came in subblocks.",
    ),
    commit: m.histogram("chain_commit_seconds", "Time to commit a change of the head.", BUCKETS_SECONDS),
    start: m.histogram(
      "chain_build_start_seconds",
      "Time to start building a payload: forced transactions and the first ones of the pool.",
      BUCKETS_SECONDS,
    ),
    extend: m.histogram("chain_extend_seconds", "Time to build one block of a series derived from L1.", BUCKETS_SECONDS),
    finish: m.histogram("chain_build_finish_seconds", "Time to finish a payload when it is requested.", BUCKETS_SECONDS),
  };
};
export type ChainMetrics = ReturnType<typeof createChainMetrics>;
