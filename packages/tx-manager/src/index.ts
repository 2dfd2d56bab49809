export type { FeePolicy, SendOutcome, TransactionManagerOptions, TxFees } from "./api.ts";
export { type BlobProver, kzgBlobProver } from "./blob-prover.ts";
export { connectL1, type L1Connection } from "./connect-l1.ts";
export type { L1Access } from "./l1-access.ts";
export { accountOptions, transactionOptions } from "./options.ts";
export { TransactionManager, type TransactionManagerDeps } from "./transaction-manager.ts";
export { carriesBlobs, costNow, maxCostWei, type TxCandidate, unsignedTransaction } from "./tx-candidate.ts";
export { TxManagerError, type TxManagerErrorCode } from "./tx-manager-error.ts";
export { createTxMetrics, type TxMetrics } from "./tx-metrics.ts";
