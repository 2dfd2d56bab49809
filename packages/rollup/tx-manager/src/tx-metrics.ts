import type { SendVerdict } from "@rnode/l1";
import type { MetricFactory, NoLabels } from "@rnode/observe";
import type { Gwei } from "@rnode/primitives";

export type TxMetrics = ReturnType<typeof createTxMetrics>;

/** Under the names that op-service's transaction manager exports. */
export const createTxMetrics = (m: MetricFactory) => ({
  feeGwei: m.gauge<NoLabels, Gwei>("txmgr_tx_fee_gwei", "What the latest confirmed transaction cost, blobs included, in gwei."),
  feeGweiTotal: m.counter("txmgr_tx_fee_gwei_total", "What all confirmed transactions cost, in gwei."),
  gasBump: m.gauge("txmgr_tx_gas_bump", "How often the latest confirmed transaction had been replaced."),
  confirmedLatencyMs: m.gauge(
    "txmgr_tx_confirmed_latency_ms",
    "Time from sending the latest confirmed transaction to its confirmation, in milliseconds.",
  ),
  currentNonce: m.gauge("txmgr_current_nonce", "Nonce of the latest transaction."),
  pending: m.gauge("txmgr_pending_txs", "Transactions that are under way."),
  publishErrors: m.counter<{ error: SendVerdict | "unreachable" }>(
    "txmgr_tx_publish_error_count",
    "Transactions that L1 refused, by verdict.",
    ["error"],
  ),
  published: m.counter("txmgr_publish_total", "Transactions that L1 accepted into its pool, replacements included."),
  lastPublished: m.gauge("txmgr_last_publish_unix", "Time of the latest publication, in seconds since 1970."),
  confirmed: m.counter<{ status: "success" | "failed" }>(
    "txmgr_confirm_total",
    "Transactions confirmed, by the status of their receipt.",
    ["status"],
  ),
  lastConfirmed: m.gauge<{ status: "success" | "failed" }>(
    "txmgr_last_confirm_unix",
    "Time of the latest confirmation, in seconds since 1970.",
    ["status"],
  ),
  rpcErrors: m.counter("txmgr_rpc_error_count", "Requests of the transaction manager that L1 did not answer."),
  baseFee: m.gauge("txmgr_basefee_wei", "L1's base fee when fees were last computed, in wei."),
  blobBaseFee: m.gauge("txmgr_blob_basefee_wei", "L1's blob base fee when fees were last computed, in wei."),
  tipCap: m.gauge("txmgr_tipcap_wei", "The priority fee that L1 suggested when fees were last computed, in wei."),
  feeCap: m.gauge<NoLabels, Gwei>("txmgr_fee_cap_gwei", "Fee cap of the latest publication, in gwei."),
});
