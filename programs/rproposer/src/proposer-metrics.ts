import { createL1Metrics } from "@rnode/l1";
import type { MetricFactory, NoLabels } from "@rnode/observe";
import type { Ether } from "@rnode/primitives";
import type { L2BlockRef } from "@rnode/protocol";
import { createTxMetrics } from "@rnode/tx-manager";

/** The kinds of recorded L2 blocks: proposed, or an output on L1 that agrees with the rollup node, or one that does not. */
export type ProposedRef = "proposed" | "valid_output" | "invalid_output";

/** Under op-proposer's names, as far as it has them. */
export function createProposerMetrics(m: MetricFactory) {
  const numbers = m.gauge<{ layer: string; type: string }>("refs_number", "Number of a block, by what is told of it.", [
    "layer",
    "type",
  ]);
  const times = m.gauge<{ layer: string; type: string }>("refs_time", "Time of a block, in seconds since 1970.", ["layer", "type"]);
  return {
    l1: createL1Metrics(m),
    transactions: createTxMetrics(m),
    up: m.gauge("proposing", "1 while the proposer is at work, 0 while it is stopped."),
    balance: m.gauge<NoLabels, Ether>("balance", "Balance of the proposer's L1 account, in ether."),
    proposals: m.counter<{ outcome: "confirmed" | "failed" | "refused" | "nonce-consumed" | "lost" }>(
      "proposals_total",
      "Output proposals, by what became of them.",
      ["outcome"],
    ),
    errors: m.counter("errors_total", "Rounds that failed and were tried again."),
    l2Ref(type: ProposedRef, { number, timestamp }: Pick<L2BlockRef, "number"> & { readonly timestamp?: number }): void {
      numbers.set(number, { layer: "l2", type });
      if (timestamp !== undefined) times.set(timestamp, { layer: "l2", type });
    },
  };
}

export type ProposerMetrics = ReturnType<typeof createProposerMetrics>;
