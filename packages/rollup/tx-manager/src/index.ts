export type { SendOutcome } from "./api.ts";
export { type BlobProver, kzgBlobProver } from "./blob-prover.ts";
export { connectL1, type L1Connection } from "./connect-l1.ts";
export type { L1Access } from "./l1-access.ts";
export { accountOptions, transactionOptions } from "./options.ts";
export { TransactionManager } from "./transaction-manager.ts";
export { costNow, type TxCandidate } from "./tx-candidate.ts";
export { createTxMetrics } from "./tx-metrics.ts";
