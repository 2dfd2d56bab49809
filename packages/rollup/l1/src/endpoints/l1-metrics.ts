import type { MetricFactory } from "@rnode/observe";
import type { L1EndpointMetrics } from "./endpoints.ts";

/**
 * Kinds of requests to L1: "head" for the block of a label, "header" without and "block" with transactions, "receipts",
 * "storage". A block whose receipts are fetched one by one counts once.
 */
export type L1RequestKind = "head" | "header" | "block" | "receipts" | "storage";

export interface L1Metrics extends L1EndpointMetrics {
  /** questions about blocks, whether sent alone or in a batch; retries count */
  asked(kind: L1RequestKind, count: number): void;
  /** the transactions of a block arrived and were verified */
  blockRead(): void;
}

export function createL1Metrics(m: MetricFactory): L1Metrics {
  const faulty = m.counter<{ endpoint: string }>("l1_faulty_answers_total", "L1 answers that do not match their hash or root.", [
    "endpoint",
  ]);
  const failed = m.counter<{ endpoint: string }>("l1_failed_requests_total", "L1 requests without a usable answer.", ["endpoint"]);
  const asked = m.counter<{ kind: L1RequestKind }>("l1_block_requests_total", "Questions about L1 blocks, by kind.", ["kind"]);
  const read = m.counter(
    "l1_blocks_read_total",
    "L1 blocks read with their transactions, to divide the number of block requests by.",
  );
  return {
    faultyAnswer: (endpoint) => faulty.inc({ endpoint }),
    requestFailed: (endpoint) => failed.inc({ endpoint }),
    asked: (kind, count) => asked.add(count, { kind }),
    blockRead: () => read.inc(),
  };
}
